import type { z } from 'zod';
import type { NamedArray, NamedArrays } from '../checkpoints/tensor-file.ts';
import { InputError } from '../src/errors.ts';
import type { WorkContext } from '../src/work-context.ts';

/*
 * Whatever learns is a `Trainer`: it trains one agent, one iteration at a time. One loop (experiments/run/train-in-directory.ts) runs
 * any of them and owns resume, logging, checkpoints and progress.
 */

/** Measurements of one iteration, by their names in the metrics log, such as `ppo/entropy`. */
export type Metrics = Readonly<Record<string, number>>;

/** All that changes while an agent trains: what a checkpoint stores. */
export interface TrainerState {
  /** Weights, optimiser moments and the like, by name. */
  readonly arrays: NamedArrays;
  /** Counters, random streams and positions: plain JSON. */
  readonly values: unknown;
}

/** An agent in training. `Policy` is what it comes to. */
export interface Trainer<Policy> {
  /** Names the algorithm in checkpoints, such as `imitation`. */
  readonly algorithm: string;
  /** Iterations done. */
  readonly iteration: number;
  /** Iterations in all. A trainer that ends early lowers it to `iteration`. */
  readonly iterations: number;
  /**
   * One iteration; returns its metrics.
   * @throws when `context.signal` aborts in the middle of it; what it learnt since the last checkpoint is then lost
   */
  iterate(context: WorkContext): Promise<Metrics>;
  /** The policy as it stands: plain arrays that outlive the trainer. */
  policy(): Promise<Policy>;
  /** Everything to go on bit for bit. */
  state(): Promise<TrainerState>;
  /**
   * Puts a freshly created trainer where the state was taken.
   * @throws InputError naming what does not fit: another algorithm, other sizes
   */
  restore(state: TrainerState): void;
  /** Frees the tensors. The trainer must not be used afterwards. */
  dispose(): void;
}

/**
 * Runs what iterations are left, without a log or checkpoints.
 * @throws the signal's reason between iterations once it aborts
 */
export async function trainToEnd(trainer: Trainer<unknown>, context: WorkContext): Promise<void> {
  while (trainer.iteration < trainer.iterations) {
    context.signal.throwIfAborted();
    await trainer.iterate(context);
  }
}

/** @throws InputError where the state's values are not what a trainer stores */
export function valuesOf<Values>({ values }: TrainerState, schema: z.ZodType<Values>): Values {
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  throw new InputError(
    `the saved state is not what this trainer expects (${problems.join('; ')}); use the Earshot that wrote it, or train again`,
  );
}

/** An array of a state, of a kind and perhaps a shape. @throws InputError where there is none */
export function arrayOf<Kind extends NamedArray['data']>(
  arrays: NamedArrays,
  name: string,
  { kind, shape }: { kind: new (length: number) => Kind; shape?: readonly number[] },
): Kind {
  const array = arrays[name];
  if (!(array?.data instanceof kind)) throw missing(name);
  if (shape !== undefined && array.shape.join(' × ') !== shape.join(' × '))
    throw new InputError(
      `${name} is ${array.shape.join(' × ')}, and ${shape.join(' × ')} is needed; use the same encoder, options and network sizes`,
    );
  return array.data;
}

export function missing(name: string): InputError {
  return new InputError(
    `${name} is missing. The checkpoint is not whole, or another version of Earshot wrote it; go on with that version, or train again with another --runs folder`,
  );
}
