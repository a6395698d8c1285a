import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { PreparedTrial } from '../experiments/stop-agent/prepare.ts';
import type { Task } from '../src/data/task.ts';
import { InputError } from '../src/errors.ts';
import { actionTexts } from '../trainers/stop-agent/states.ts';

/** What both sides learn from and are tested on. */
export interface Shared {
  readonly trial: Pick<PreparedTrial, 'parts' | 'sequences'>;
  /** Of the labels non-rumor and rumor, in this order. */
  readonly task: Task;
  readonly dimensions: number;
  /** Row-major [texts, dimensions]. */
  readonly embed: (texts: readonly string[]) => Promise<Float32Array>;
}

/** What a language model answers where the detector says non-rumor or rumor. */
const answers: Readonly<Record<number, string>> = { [-1]: '?', 0: 'No', 1: 'Yes' };

/**
 * Writes a folder for published-eard.py: the threads in the published format, with a number for an id and rows of vectors
 * for texts; the vectors of all posts and of both actions; and what the detector says after each post.
 */
export async function writeWorld(folder: string, { trial, task, dimensions, embed }: Shared): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const { demonstrations, environment, test } = trial.parts;
  const texts: string[] = [];
  const judgements: Record<string, string[]> = {};
  for (const [part, threads] of Object.entries({ demonstrations, environment, test })) {
    const entries = threads.map((thread, index) => {
      const rows = thread.posts.map((_, post) => `p${texts.length + post}`);
      texts.push(...thread.posts.map(({ text }) => text));
      const sequence = trial.sequences.get(thread.id);
      if (sequence !== undefined) judgements[rows[0]] = Array.from(sequence.predicted, (label) => answers[label]);
      const seq = { timeline: thread.posts.map((_, post) => post), tids: rows, texts: rows };
      return [`${part[0]}${index}`, { label: String(task.goldLabel(thread) ?? 0), seq }];
    });
    writeFileSync(join(folder, `${part}.json`), JSON.stringify(Object.fromEntries(entries)));
  }
  writeFileSync(join(folder, 'vectors.f32'), await embed([...texts, ...actionTexts]));
  writeFileSync(join(folder, 'world.json'), JSON.stringify({ dimensions, judgements }));
}

const outcomeSchema = z.strictObject({
  torch: z.string(),
  /** Processor time of all threads, one entry an iteration. */
  secondsOfIterations: z.array(z.number()),
  /** How many each expert made, before any were left out. */
  demonstrations: z.strictObject({ conservative: z.int(), earlyAction: z.int(), misleading: z.int() }),
  /** In the order of the test threads; `label` is −1 where the answer was neither. */
  decisions: z.array(z.strictObject({ postsUsed: z.int(), label: z.int() })),
});
/** What came of a run of the published code. */
export type PublishedOutcome = z.infer<typeof outcomeSchema>;

/** A checkout of the published code, and the Python that runs it. */
export interface Published {
  readonly checkout: string;
  readonly python: string;
}

/** @throws InputError when the checkout, Python or a package of it is missing */
export async function checkPublished({ checkout, python }: Published): Promise<void> {
  if (!existsSync(join(checkout, 'gen_exp_trajs.py')))
    throw new InputError(
      `${checkout} has no gen_exp_trajs.py; give a checkout of znhy1024/Few-Shot-EARD with --checkout`,
    );
  await output(python, ['-c', 'import torch, stable_baselines3']).catch((error) => {
    throw new InputError(
      `${python} cannot import what the published code needs; install torch and stable-baselines3 for it, or give another with --python. ${lastLine(error)}`,
    );
  });
}

/** Trains and tests the published code, on one thread, in a folder that `writeWorld` filled. */
export async function runPublished(
  { checkout, python }: Published,
  { world, seed, iterations }: { world: string; seed: number; iterations: number },
): Promise<PublishedOutcome> {
  const script = join(import.meta.dirname, 'published-eard.py');
  const words = [script, checkout, world, '--seed', `${seed}`, '--iterations', `${iterations}`];
  return outcomeSchema.parse(JSON.parse(await output(python, words)));
}

async function output(python: string, words: readonly string[]): Promise<string> {
  const oneThread = { OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };
  const env = { ...process.env, ...oneThread, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)(python, words, { env, maxBuffer: 2 ** 26 });
  return stdout;
}

/** What Python says last is what went wrong. */
function lastLine(error: Error): string {
  return error.message.trim().split('\n').at(-1)!;
}
