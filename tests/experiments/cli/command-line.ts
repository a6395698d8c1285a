import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { inject, vi } from 'vitest';
import { runCommandLine } from '../../../experiments/cli/main.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { type Outcome, outputOf } from '../../child-output.ts';
import { makeThread } from '../../src/data/fixtures.ts';
import { tiny } from './tiny.ts';

export { tiny };

export interface Started {
  readonly outcome: Promise<Outcome>;
  /** What Ctrl-C does. */
  interrupt(): void;
}

export interface Surroundings {
  readonly cwd: string;
  /** Standard input; empty unless given. */
  readonly stdin?: Readable;
  /** Whether `train`, `sweep` and `detect` write the page of their results, whose charts cost more than most trainings of tests. */
  readonly page?: boolean;
  /** The width of the terminal; none unless given. */
  readonly columns?: number;
}

/** Commands take paths from the working directory, of which a process has one, so they wait for each other. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Starts the command line in this process, with `cwd` as the working directory until it ends. `train` and `sweep` start no
 * further process unless their words say how many: one that loads the sources costs more than most trainings of tests.
 */
export function start(
  given: readonly string[],
  { cwd, stdin = Readable.from([]), page = false, columns }: Surroundings,
): Started {
  const trains = ['train', 'sweep'].includes(given[0]) && !given.includes('--help');
  const reports = trains || given[0] === 'detect';
  const words = [
    ...given,
    ...(trains && !given.includes('--jobs') ? ['--jobs', '1'] : []),
    ...(reports && !page && !given.includes('--no-html') ? ['--no-html'] : []),
  ];
  const interruption = new AbortController();
  const stdout = new TextCollector();
  const screen = columns === undefined ? {} : { isTTY: true, columns, rows: 24 };
  const stderr = Object.assign(new TextCollector(), screen);
  const outcome = turn.then(async () => {
    const before = process.cwd();
    process.chdir(cwd);
    try {
      const code = await runCommandLine({
        words,
        stdin,
        stdout,
        stderr,
        interruptSignal: () => interruption.signal,
        onHangUp: () => () => {},
      });
      return { code, out: stdout.text, errors: stderr.text };
    } finally {
      process.chdir(before);
    }
  });
  turn = outcome.catch(() => {});
  return { outcome, interrupt: () => interruption.abort() };
}

export function earshot(words: readonly string[], options: Surroundings): Promise<Outcome> {
  return start(words, options).outcome;
}

class TextCollector extends Writable {
  text = '';

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(chunk: string, _: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

/** The program that the tests belong to. */
export const checkout = join(import.meta.dirname, '../../..');

/** The same, compiled: it starts sooner. The interop tests run the sources. */
const compiled: string | undefined = inject('compiledProgram');

export interface StartedProcess {
  readonly pid: number;
  readonly outcome: Promise<Outcome>;
  /** What it has written to standard error so far. */
  errors(): string;
  /** To the process and its workers, as a terminal sends it; `alone`: to the process only. */
  signal(name: NodeJS.Signals, options?: { alone: boolean }): void;
}

/**
 * Starts the command line in a process of its own, where signals, workers or limits of the system are the subject. With
 * `fileKilobytes` no file may grow larger, as on a disk that fills up. `program`: another checkout than this one.
 */
export function startProcess(
  words: readonly string[],
  options: { cwd: string; fileKilobytes?: number; program?: string },
): StartedProcess {
  const { cwd, fileKilobytes, program: root = compiled ?? checkout } = options;
  const command = [process.execPath, join(root, 'experiments/cli/earshot.mjs'), ...words];
  const [program, ...rest] =
    fileKilobytes === undefined
      ? command
      : ['bash', '-c', `ulimit -f ${fileKilobytes} && exec "$@"`, 'bash', ...command];
  const env = { ...process.env, NODE_OPTIONS: '' };
  const child = spawn(program, rest, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const { outcome, errors } = outputOf(child);
  const pid = child.pid!;
  return {
    pid,
    outcome,
    errors,
    signal: (name, { alone } = { alone: false }) => void process.kill(alone ? pid : -pid, name),
  };
}

/** Waits for a condition that a running command brings about. Gives up before the test does, so that nothing polls on. */
export async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { interval: 5, timeout: 100_000 });
}

/** How many iterations a run has logged. */
export function logged(run: string): number {
  const path = join(run, 'metrics.jsonl');
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
}

/** Writes an experiment file; what is given replaces whole parts of the tiny one. */
export function writeExperiment(path: string, parts: Record<string, unknown> = {}): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ ...tiny, ...parts }));
}

/** Threads as lines of a file, their texts telling the label unless told otherwise. */
export function threadLines(
  count: number,
  options: { prefix?: string; posts?: number; event?: string; labelled?: boolean; telling?: 'right' | 'wrong' } = {},
): string {
  const { prefix = 't', posts = 4, event = null, labelled = true, telling = 'right' } = options;
  return Array.from({ length: count }, (_, index) => {
    const rumor = index % 2 === 0;
    const thread: Thread = makeThread(`${prefix}${index}`, { posts, event, rumor: labelled ? rumor : null });
    const word = rumor === (telling === 'right') ? 'fake hoax' : 'confirmed official';
    return `${JSON.stringify({ ...thread, posts: thread.posts.map((post) => ({ ...post, text: word })) })}\n`;
  }).join('');
}
