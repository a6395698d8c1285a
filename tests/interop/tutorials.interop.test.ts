import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { csvText } from '../../src/csv-text.ts';
import { syntheticOptionsSchema } from '../../src/data/synthetic/options.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { isFairTest } from '../../src/data/thread.ts';
import { loadThreads, writeThreads } from '../../src/data/thread-file.ts';
import { outputOf } from '../child-output.ts';
import { until } from '../experiments/cli/command-line.ts';
import { ScriptedLlmServer } from '../llm-server/scripted-llm-server.ts';
import { interopPython } from './python.ts';
import { startRedis } from './redis-server.ts';

/*
 * Follows README.md and the tutorials, block by block in their order, each in a folder that holds nothing but what a reader is to
 * bring. Trainings are shortened by their own options. docs/how-to/use-a-policy.md has a test of its own.
 */

const home = join(import.meta.dirname, '../..');
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Options that a command is given on top, so that it takes seconds. */
const shortened: Readonly<Record<string, readonly string[]>> = {
  train: ['--set', 'agent.iterations=20', '--seeds', '1', '--no-html', '--jobs', '1'],
  sweep: ['--set', 'agent.iterations=2', '--set', 'seeds=[1]', '--no-html', '--jobs', '1'],
};

/** A folder in which `npx earshot` is this checkout, as it is in the checkout itself. */
function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-reader-'));
  folders.push(folder);
  const program = join(home, 'experiments/cli/earshot.mjs');
  const cases = Object.entries(shortened).map(
    ([command, words]) => `${command}) extra=(${words.map((own) => `'${own}'`).join(' ')});;`,
  );
  const run = `extra=()\ncase "$1" in ${cases.join(' ')} esac\nexec '${process.execPath}' '${program}' "$@" "\${extra[@]}"\n`;
  const { demo } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')).scripts;
  expect(demo).toMatch(/^node experiments\/cli\/earshot\.mjs train /);
  const scripts = {
    npx: `[ "$1" = earshot ] || exit 64\nshift\n${run}`,
    // Installing and testing the checkout is what every other test does.
    npm: `case "$1" in ci|test) exit 0;; run) set -- ${demo.replace(/^\S+ \S+ /, '')}\n${run};; *) exec '${join(dirname(process.execPath), 'npm')}' "$@";; esac\n`,
  };
  for (const [name, text] of Object.entries(scripts)) {
    mkdirSync(join(folder, '.bin'), { recursive: true });
    writeFileSync(join(folder, '.bin', name), `#!/bin/bash\n${text}`);
    chmodSync(join(folder, '.bin', name), 0o755);
  }
  mkdirSync(join(folder, 'here'));
  symlinkSync(join(home, 'experiments'), join(folder, 'here/experiments'));
  return join(folder, 'here');
}

/** What stands in for machines that a page names. */
type Stands = Readonly<Record<string, string>>;

function inPlace(text: string, stands: Stands): string {
  return Object.entries(stands).reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
}

function environment(folder: string, stands: Stands) {
  const python = dirname(interopPython());
  const path = `${join(folder, '../.bin')}:${python}:${process.env.PATH}`;
  return { cwd: folder, env: { ...process.env, NODE_OPTIONS: '', PATH: path, ...stands } };
}

/** What a reader knows of a thread. */
type ClassOf = (thread: string) => string;

/** Does what a page says: writes the files that its blocks name, unless the reader has brought them, and runs its commands. */
async function follow(
  page: string,
  { folder, stands = {}, classOf = () => '' }: { folder: string; stands?: Stands; classOf?: ClassOf },
): Promise<void> {
  const text = readFileSync(join(home, page), 'utf8');
  const background: Promise<unknown>[] = [];
  for (const [, language, name, code] of text.matchAll(/^```(\w+) ?(\S*)\n(.*?)^```/gms)) {
    const path = join(folder, name);
    if (name !== '' && !existsSync(path)) writeFileSync(path, inPlace(code, stands));
    if (language !== 'sh') continue;
    const words = ['-euo', 'pipefail', '-c', inPlace(code, stands)];
    const surroundings = environment(folder, stands);
    if (/^npx earshot label (?!.*--next)/.test(code)) {
      const child = spawn('bash', words, { ...surroundings, detached: true });
      const { outcome, errors: printed } = outputOf(child);
      await until(() => / as \w+;/.test(printed()));
      await labelOn(/label at (\S+) /.exec(printed())?.[1] ?? '', classOf);
      process.kill(-(child.pid ?? 0), 'SIGINT');
      const { code: status, errors } = await outcome;
      expect(status, `${page}: ${code}\n${errors}`).toBe(0);
      continue;
    }
    if (/ sweep .*--queue/.test(code)) {
      // It waits for workers, whom the next block starts.
      const waiting = outputOf(spawn('bash', words, surroundings)).outcome;
      background.push(
        waiting.then(({ code: status, errors }) => expect(status, `${page}: ${code}\n${errors}`).toBe(0)),
      );
      continue;
    }
    const { code: status, out, errors } = await outputOf(spawn('bash', words, surroundings)).outcome;
    expect(status, `${page}: ${code}\n${out.slice(-2000)}\n${errors.slice(-2000)}`).toBe(0);
    // Nothing that a page says is checked on the threads that a guarantee was found on.
    expect(errors).not.toContain('it holds on these by construction');
    // What it proposes can be done, too.
    for (const [, next] of errors.matchAll(/^(?:Next:| {5}) (npx earshot (?:decide|data synth) .*)$/gm)) {
      const proposed = await outputOf(spawn('bash', ['-c', next], surroundings)).outcome;
      expect(proposed.code, `${next}\n${proposed.errors}`).toBe(0);
    }
  }
  await Promise.all(background);
}

/** Labels on the page what half an hour takes, or what is left of it, as its form does. */
async function labelOn(address: string, classOf: ClassOf): Promise<void> {
  for (;;) {
    const page = await (await fetch(address)).text();
    const [, answered] = /· ([\d,]+) answered/.exec(page) ?? [];
    const [, thread] = /name="thread" value="([^"]*)"/.exec(page) ?? [];
    if (thread === undefined || Number(answered) >= halfAnHour) return;
    const answer = `class-${['resolved', 'escalated'].indexOf(classOf(decodeURIComponent(thread))) + 1}`;
    await fetch(address, { method: 'POST', body: new URLSearchParams({ thread, answer }) });
  }
}

/** Labels, at 12 seconds each. */
const halfAnHour = 150;

/** Threads of a reader, in the columns of the tutorial. */
function ownPosts(threads: number): string {
  const synthetic = syntheticOptionsSchema.parse({ threads, minPosts: 3, typicalPosts: 4, maxPosts: 6 });
  const rows = synthesizeThreads(synthetic).flatMap(({ id, rumor, posts }) =>
    posts.map((post) => [
      id,
      post.id,
      post.text,
      post.time ?? '',
      post.author ?? '',
      post.parent ?? '',
      rumor ? 'escalated' : 'resolved',
    ]),
  );
  return csvText([['ticket_id', 'message_id', 'message', 'sent_at', 'sender', 'in_reply_to', 'outcome'], ...rows]);
}

/** Labels of a machine that is right three times in four, with 200 by people. */
function ownLabels(): string {
  const rows = Array.from({ length: 500 }, (_, row) => {
    const gold = row % 2 === 0 ? 'favor' : 'against';
    const machine = row % 4 === 1 ? 'favor' : gold;
    const word = gold === 'favor' ? ['great', 'proud', 'best'][row % 3] : ['liar', 'shame', 'worst'][row % 3];
    return [`so ${word} today ${row % 17}`, 'Donald Trump', machine, '0.8', row < 200 ? gold : ''];
  });
  return csvText([['text', 'target', 'machine_stance', 'probability', 'stance'], ...rows]);
}

it('README.md runs in an empty folder', async () => {
  const folder = emptyFolder();
  writeFileSync(join(folder, 'posts.csv'), ownPosts(300));
  await writeThreads(join(folder, 'new.jsonl'), synthesizeThreads({ threads: 20, seed: 9 }));
  await follow('README.md', { folder });
});

it('alerts can be raised early with threads of one’s own', async () => {
  const folder = emptyFolder();
  writeFileSync(join(folder, 'posts.csv'), ownPosts(900));
  const words = ['-c', 'npx earshot data import csv posts.csv --label outcome --out threads.jsonl'];
  const { code, errors } = await outputOf(spawn('bash', words, environment(folder, {}))).outcome;
  expect(code, errors).toBe(0);
  await follow('docs/how-to/alerts.md', { folder });
});

it('800 threads without a label become a policy in half an hour of labelling', async () => {
  const folder = emptyFolder();
  const threads = synthesizeThreads({ threads: 800, seed: 4 });
  const escalated = new Set(threads.filter(({ rumor }) => rumor === true).map(({ id }) => id));
  await writeThreads(
    join(folder, 'threads.jsonl'),
    threads.map((thread) => ({ ...thread, rumor: null, veracity: null })),
  );
  const classOf: ClassOf = (thread) => (escalated.has(thread) ? 'escalated' : 'resolved');
  await follow('docs/tutorials/label-your-threads.md', { folder, classOf });
  const labelled = await loadThreads(join(folder, 'threads.labelled.jsonl'));
  const withLabel = labelled.filter(({ labels }) => labels?.outcome !== undefined);
  expect(withLabel).toHaveLength(halfAnHour);
  expect(withLabel.every(({ id, labels }) => labels?.outcome === classOf(id))).toBe(true);
  expect(withLabel.filter(isFairTest).length).toBeGreaterThan(40);
  expect(existsSync(join(folder, 'runs/outcome/policy/manifest.json'))).toBe(true);
});

describe('the tutorials, one after the other in an empty folder', () => {
  let folder: string;
  beforeAll(() => {
    folder = emptyFolder();
    writeFileSync(join(folder, 'posts.csv'), ownPosts(560));
    writeFileSync(join(folder, 'labels.csv'), ownLabels());
  });

  it('your own threads', () => follow('docs/tutorials/your-own-threads.md', { folder }));

  it('the guarantee in production', () => follow('docs/tutorials/guarantee.md', { folder }));

  it('a language model on a budget', async () => {
    const answer = ({ messages }: { messages: unknown }) =>
      JSON.stringify(messages).length % 3 === 0 ? 'resolved' : 'escalated';
    const model = await ScriptedLlmServer.start(answer);
    try {
      const stands = { 'http://localhost:11434/v1': model.baseURL };
      await follow('docs/tutorials/language-model-on-a-budget.md', { folder, stands });
    } finally {
      await model.stop();
    }
  });

  it('weak labels', () => follow('docs/tutorials/weak-labels.md', { folder }));

  it('a sweep on several machines', async () => {
    const redis = await startRedis();
    try {
      const stands = { '/shared/': `${folder}/shared/`, 'redis://head:6379': redis.address, '--idle 600': '--idle 10' };
      await follow('docs/tutorials/sweep-on-several-machines.md', { folder, stands });
    } finally {
      await redis.kill();
    }
  });
});
