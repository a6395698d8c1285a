import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeExperiment } from '../experiments/cli/command-line.ts';
import { startEarshot } from './serving.ts';

const home = join(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'earshot-consumer-'));
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Runs a program in the other project. */
async function run(file: string, words: readonly string[], cwd = project): Promise<string> {
  const { stdout } = await promisify(execFile)(file, words, { cwd, maxBuffer: 1e8 });
  return stdout;
}

/** The first block of code of this language in the README. */
function blockOfPage(language: string, containing: string): string {
  const page = readFileSync(join(home, 'docs/how-to/from-your-own-code.md'), 'utf8');
  const blocks = Array.from(page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs')), ([, code]) => code);
  const found = blocks.find((code) => code.includes(containing));
  if (found === undefined)
    throw new Error(`docs/how-to/from-your-own-code.md has no block of ${language} with ${containing}`);
  return found;
}

describe('the package, installed in another project', () => {
  beforeAll(async () => {
    await run('npm', ['pack', '--ignore-scripts=false', '--pack-destination', project], home);
    const [archive] = readdirSync(project).filter((name) => name.endsWith('.tgz'));
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', type: 'module', private: true }));
    await run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', `./${archive}`]);
  });

  it('holds compiled JavaScript with types, and no TypeScript source, test or compiler', () => {
    const installed = join(project, 'node_modules/earshot');
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    expect(files.filter((name) => /(?<!\.d)\.ts$/.test(name))).toEqual([]);
    expect(files).toContain(join('dist', 'index.d.ts'));
    // What report pages carry is read from beside the compiled files.
    for (const asset of ['page.css', 'browser/start.js'])
      expect(files).toContain(join('dist/experiments/report/page', asset));
    expect(files.filter((name) => name.startsWith('tests'))).toEqual([]);
    // The pages without what makes a site of them: its package.json would also decide how Node reads what lies beside it.
    expect(
      files.filter((name) => /^docs\b/.test(name) && /\.\w+$/.test(name) && !/\.(md|png|svg)$/.test(name)),
    ).toEqual([]);
    expect(files.filter((name) => name.startsWith(join('docs', 'node_modules')))).toEqual([]);
    expect(existsSync(join(project, 'node_modules/tsx'))).toBe(false);
  });

  it('runs the example of docs/how-to/from-your-own-code.md on plain Node: threads, a detector, an agent, decisions', async () => {
    writeFileSync(join(project, 'example.js'), blockOfPage('js', "from 'earshot'"));
    const lines = (await run(process.execPath, ['example.js'])).trimEnd().split('\n');
    expect(lines).toHaveLength(60);
    for (const line of lines) expect(line).toMatch(/^\S+: enough after \d+ posts$/);
  });

  it('type-checks against its own types', async () => {
    const program = `import { type Detector, type Trainer, createStopAgent, stopAgentSchema } from 'earshot';
export const iterations: number = stopAgentSchema.parse({}).iterations;
export const create: (settings: Parameters<typeof createStopAgent>[0]) => Promise<Trainer<unknown>> = createStopAgent;
export type Name = Detector['name'];
// @ts-expect-error there is no such option
stopAgentSchema.parse({}).iteration;
`;
    writeFileSync(join(project, 'typed.ts'), program);
    const tsc = join(home, 'node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
    expect(await run(process.execPath, [tsc, ...options, 'typed.ts'])).toBe('');
  });

  it('has the commands', async () => {
    const earshot = join(project, 'node_modules/.bin/earshot');
    expect((await run(earshot, ['--version'])).trim()).toBe('0.2.0');
    await run(earshot, ['data', 'synth', '--out', 'threads.jsonl', '--threads', '20']);
    expect(readFileSync(join(project, 'threads.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(20);
    expect(await run(earshot, ['options', 'stop-agent', 'agent.imitation.alpha'])).toMatch(/default 0\.7/);
  });

  it('has the small entry that reads bundles', async () => {
    const program = "import { loadPolicy } from 'earshot/policy'; console.log(typeof loadPolicy);";
    expect(await run(process.execPath, ['--input-type=module', '--eval', program])).toBe('function\n');
    expect(existsSync(join(project, 'node_modules/earshot/dist/checkpoints/policy/earshot_policy.py'))).toBe(true);
  });

  it('has the same entry as a package of its own, which installs zod and nothing else', async () => {
    const reader = join(project, 'reader');
    mkdirSync(reader);
    writeFileSync(join(reader, 'package.json'), JSON.stringify({ name: 'reader', type: 'module', private: true }));
    await run('npm', ['pack', '--pack-destination', reader, join(home, 'dist/policy-package')]);
    const [archive] = readdirSync(reader).filter((name) => name.endsWith('.tgz'));
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${archive}`], reader);
    expect(readdirSync(join(reader, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'earshot-policy',
      'zod',
    ]);
    const program = `import { loadPolicy } from 'earshot-policy';
const policy = await loadPolicy('http://localhost:1/policy/').catch((problem: unknown) => String(problem));
console.log(typeof policy);
`;
    writeFileSync(join(reader, 'typed.ts'), program);
    const tsc = join(home, 'node_modules/typescript/bin/tsc');
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,dom'];
    await run(process.execPath, [tsc, ...options, 'typed.ts'], reader);
    expect(await run(process.execPath, ['typed.js'], reader)).toBe('string\n');
  });

  it('takes at most 475 MB without what development and a GPU need', async () => {
    const lean = join(project, 'lean');
    mkdirSync(lean);
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) cpSync(join(home, name), join(lean, name));
    await run('npm', ['ci', '--omit=dev', '--omit=optional', '--prefer-offline', '--no-audit', '--no-fund'], lean);
    expect(await sizeOf(join(lean, 'node_modules'))).toBeLessThanOrEqual(475);
  });

  it('serves a decision after all that the Dockerfile takes away', async () => {
    const dockerfile = readFileSync(join(home, 'docs/deploy/Dockerfile'), 'utf8').replaceAll(/ \\\n/g, '');
    const [, pruning] = /^RUN (cd node_modules .*)$/m.exec(dockerfile) ?? [];
    const before = await sizeOf(join(project, 'node_modules'));
    await run('sh', ['-c', pruning]);
    expect(await sizeOf(join(project, 'node_modules'))).toBeLessThan(0.4 * before);
    const earshot = join(project, 'node_modules/.bin/earshot');
    writeExperiment(join(project, 'tiny.yaml'), { backend: 'auto' });
    await run(earshot, ['train', 'tiny.yaml']);
    await run(earshot, ['export', 'runs/tiny/agent/seed-1', '--out', 'policy']);
    const server = await startEarshot([join(project, 'policy')], { program: earshot });
    try {
      const posts = [
        { id: '1', text: 'A claim.' },
        { id: '2', text: 'Is that so?' },
      ];
      const answer = await fetch(`${server.address}/v1/threads/t/posts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ posts, end: true }),
      });
      expect(await answer.json()).toMatchObject({ decision: 'stop', prediction: { label: expect.any(String) } });
    } finally {
      await server.kill('SIGTERM');
    }
  });
});

/** Megabytes on disk. */
async function sizeOf(folder: string): Promise<number> {
  return Number.parseInt(await run('du', ['-sm', folder]), 10);
}
