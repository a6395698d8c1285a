import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { PreparedTrial } from '../experiments/stop-agent/prepare.ts';
import { type ExpertName, expertNames } from '../experts/trajectories.ts';
import type { Task } from '../src/data/task.ts';
import { InputError } from '../src/errors.ts';
import { actionTexts } from '../trainers/stop-agent/states.ts';

/** The training and test data of both sides. */
export interface Shared {
  readonly trial: Pick<PreparedTrial, 'parts' | 'sequences' | 'problem'>;
  /** Of the labels non-rumor and rumor, in this order. */
  readonly task: Task;
  readonly dimensions: number;
  /** Row-major [texts, dimensions]. */
  readonly embed: (texts: readonly string[]) => Promise<Float32Array>;
}

/** The answers of a language model for non-rumor and rumor. */
const answers: Readonly<Record<number, string>> = { [-1]: '?', 0: 'No', 1: 'Yes' };

/**
 * Writes a folder that other code reads: the threads in the format of EARD's code, with a number for an id and rows of vectors
 * for texts; the vectors of all posts and of both actions; what the detector says after each post; and where each expert
 * stops, as places in the demonstrations and 0-based steps.
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
  const stopsOf = (expert: ExpertName) =>
    trial.problem.demonstrations.flatMap((each) => (each.expert === expert ? [[each.thread, each.stopStep]] : []));
  const experts = Object.fromEntries(expertNames.map((expert) => [expert, stopsOf(expert)]));
  writeFileSync(join(folder, 'world.json'), JSON.stringify({ dimensions, judgements, experts }));
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
/** The result of a run of other code. */
export type Outcome = z.infer<typeof outcomeSchema>;

/** Code of others that trains on a folder which `writeWorld` filled. */
export interface OtherCode {
  readonly name: string;
  /** A Python that has what it needs. */
  readonly python: string;
  /** Script and what it is told before the folder. */
  readonly words: readonly string[];
}

/** @throws InputError when the checkout, Python or a package of it is missing */
export async function publishedCode({ checkout, python }: { checkout: string; python: string }): Promise<OtherCode> {
  if (!existsSync(join(checkout, 'gen_exp_trajs.py')))
    throw new InputError(
      `${checkout} has no gen_exp_trajs.py; give a checkout of znhy1024/Few-Shot-EARD with --checkout`,
    );
  await checkImports(python, { torch: 'torch', stable_baselines3: 'stable-baselines3' });
  return { name: 'published code', python, words: [script('published-eard.py'), checkout] };
}

/** @throws InputError when Python or a package of it is missing */
export async function imitationLibrary({ python }: { python: string }): Promise<OtherCode> {
  await checkImports(python, { torch: 'torch', imitation: 'imitation' });
  return { name: 'imitation (GAIL)', python, words: [script('imitation-gail.py')] };
}

/** Trains and tests other code on one thread. */
export async function runOtherCode(
  { python, words }: OtherCode,
  { world, seed, iterations }: { world: string; seed: number; iterations: number },
): Promise<Outcome> {
  const options = ['--seed', `${seed}`, '--iterations', `${iterations}`];
  return outcomeSchema.parse(JSON.parse(await output(python, [...words, world, ...options])));
}

function script(name: string): string {
  return join(import.meta.dirname, name);
}

/** @param packages by module */
async function checkImports(python: string, packages: Readonly<Record<string, string>>): Promise<void> {
  await output(python, ['-c', `import ${Object.keys(packages).join(', ')}`]).catch((error) => {
    throw new InputError(
      `${python} cannot import what is needed; install ${Object.values(packages).join(' and ')} for it, or give another with --python. ${lastLine(error)}`,
    );
  });
}

async function output(python: string, words: readonly string[]): Promise<string> {
  const oneThread = { OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };
  const env = { ...process.env, ...oneThread, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)(python, words, { env, maxBuffer: 2 ** 26 });
  return stdout;
}

/** The last line of a Python traceback names the error. */
function lastLine(error: Error): string {
  return error.message.trim().split('\n').at(-1)!;
}
