import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { commandLine } from '../../experiments/cli/main.ts';
import { schemasByFile } from '../../experiments/cli/options.ts';
import { detectorFileSchema } from '../../experiments/config/detector-file.ts';
import { isPlainObject, type PlainObject } from '../../experiments/config/overrides.ts';
import { resolveDetectorsExperiment } from '../../experiments/detectors/experiment.ts';
import { resolveSelectorExperiment } from '../../experiments/selector/experiment.ts';
import { resolveExperiment } from '../../experiments/stop-agent/experiment.ts';
import { sweepSchema } from '../../experiments/sweep/sweep-file.ts';
import { judgingTaskSchema } from '../../experts/tasks/task-file.ts';
import { tasks } from '../../src/data/task.ts';
import { blocksOf, earshotCommands, home, markdown, textOf } from './pages.ts';

const pages = ['README.md', 'CONTRIBUTING.md', ...markdown('docs'), ...markdown('experiments/results')];

/** As GitHub and VitePress make them of headings. */
function anchorsOf(page: string): string[] {
  return Array.from(textOf(page).matchAll(/^#+ (.+)$/gm), ([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

/** Links of a page to other files. */
function linksOf(page: string): string[] {
  const prose = textOf(page)
    .replace(/^```.*?^```/gms, '')
    .replace(/`[^`\n]*`/g, '');
  return Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, link]) => link).filter((link) => !/^[a-z]+:/.test(link));
}

describe('links', () => {
  it.each(pages)('of %s lead somewhere', (page) => {
    const dead = linksOf(page).filter((link) => {
      const [path, anchor] = link.split('#');
      const target = path === '' ? page : relative(home, resolve(home, dirname(page), path));
      if (!existsSync(join(home, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  it.each(markdown('docs'))('of %s stay in the site, whose build fails on others', (page) => {
    const outside = linksOf(page).filter((link) => {
      const target = relative(join(home, 'docs'), resolve(home, dirname(page), link.split('#')[0]));
      return target.startsWith('..') || !/\.(md|png|svg)$|^deploy\//.test(target);
    });
    expect(outside.filter((link) => !link.startsWith('#'))).toEqual([]);
  });

  it.each(pages)('of %s name files that are there', (page) => {
    const named = Array.from(
      textOf(page).matchAll(/`((?:src|envs|trainers|experts|experiments|checkpoints|tests|benchmarks)\/[\w./-]+)`/g),
    );
    expect(named.map(([, path]) => path).filter((path) => !existsSync(join(home, path)))).toEqual([]);
  });

  it('leads to the options of every kind of file, also where no site was built', () => {
    const listed = Array.from(
      textOf('docs/reference/options.md').matchAll(/`earshot options (\S+)` +\|/g),
      ([, kind]) => kind,
    );
    expect(listed).toEqual(Object.keys(schemasByFile()));
  });

  it('leads from the home page to every tutorial', () => {
    for (const name of readdirSync(join(home, 'docs/tutorials')))
      expect(textOf('docs/index.md')).toContain(`tutorials/${name}`);
  });
});

const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });

/** The command line as it is, but that its commands do nothing. */
async function idleCommandLine(): Promise<CommandUnknownOpts> {
  const program = await commandLine({
    words: [],
    stdin: Readable.from([]),
    stdout: nowhere(),
    stderr: nowhere(),
    interruptSignal: () => new AbortController().signal,
    onHangUp: () => () => {},
  });
  const idle = (command: CommandUnknownOpts) => {
    // Some have an action beside their parts.
    command.action(() => {});
    for (const part of command.commands) idle(part);
  };
  idle(program);
  return program;
}

const shellBlocks = pages
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'sh')
  .flatMap(({ code, place }) => earshotCommands(code).map((words) => [place, words] as const))
  .filter(([, words]) => !words.includes('--help'));

describe('commands in shell blocks', () => {
  it('are found', () => {
    expect(shellBlocks.length).toBeGreaterThan(30);
    expect(earshotCommands('npx earshot a "b c" \\\n  --d $X/2 > out.txt # e\nx && earshot f | g')).toEqual([
      ['a', 'b c', '--d', '1/2'],
      ['f'],
    ]);
  });

  it.each(shellBlocks)('%s: earshot %s', async (_, words) => {
    const program = await idleCommandLine();
    await expect(program.parseAsync(words, { from: 'user' })).resolves.toBeDefined();
  });

  it('would not pass with an option that does not exist', async () => {
    const program = await idleCommandLine();
    await expect(program.parseAsync(['train', 'x.yaml', '--seed', '1'], { from: 'user' })).rejects.toThrow(
      /unknown option '--seed'/,
    );
  });
});

describe('the page of the papers', () => {
  const page = 'docs/reference/papers.md';
  const named = Array.from(textOf(page).matchAll(/`([^`\n]+)`/g), ([, code]) => code);
  const paths = [
    ...new Set(named.flatMap((code) => code.split(' ')).filter((word) => /^[a-z]+\/\S+\.\w+$/.test(word))),
  ];

  it.each(paths)('names %s, which exists', (path) => {
    expect(existsSync(join(home, path))).toBe(true);
  });

  it('names many files', () => {
    expect(paths.length).toBeGreaterThan(30);
  });
});

/** Classes of a label that would be found in the reader's threads. */
function withKnownClasses({ task, ...settings }: PlainObject): PlainObject {
  if (task === undefined) return settings;
  if (typeof task !== 'string' || Object.hasOwn(tasks, task)) return { task, ...settings };
  const alerts = Array.isArray(settings.alerts) ? settings.alerts : [];
  return { task: { label: task, classes: ['fake', 'real', ...alerts] }, ...settings };
}

const yamlBlocks = pages
  .flatMap(blocksOf)
  .filter(
    ({ language, code }) => language === 'yaml' && /^(kind: (sweep|selector|detectors)$|name:|detector:)/m.test(code),
  )
  .map(({ code, place }) => [place, code] as const);

describe('files in YAML blocks', () => {
  it('are found', () => {
    expect(yamlBlocks.length).toBeGreaterThan(4);
  });

  it.each(yamlBlocks)('%s is valid', (place, code) => {
    const value: unknown = parse(code);
    if (!isPlainObject(value)) throw new Error(`${place} is no map`);
    const { kind, variants: _, ...settings } = value;
    if (kind === 'sweep') expect(sweepSchema.safeParse(value)).toMatchObject({ success: true });
    else if (kind === 'selector') resolveSelectorExperiment(value, place);
    else if (kind === 'detectors') resolveDetectorsExperiment({ kind, ...settings }, place);
    else if ('labels' in value) expect(judgingTaskSchema.safeParse(value)).toMatchObject({ success: true });
    else if ('name' in value) resolveExperiment(withKnownClasses(settings), place);
    else expect(detectorFileSchema.safeParse(value)).toMatchObject({ success: true });
  });
});
