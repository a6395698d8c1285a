import type { z } from 'zod';
import type { NamedArrays } from '../checkpoints/tensor-file.ts';
import { InputError } from '../src/errors.ts';
import type { WorkContext } from '../src/work-context.ts';

/*
 * Whatever learns is a `Trainer`: it trains batched runs in lockstep, one iteration at a time. One loop
 * (experiments/run/train-in-directory.ts) runs any of them and owns resume, logging, checkpoints and progress.
 */

/** What one iteration measured of one member, by the name the metrics log uses, such as `ppo/entropy`. */
export type Metrics = Readonly<Record<string, number>>;

/** All of one member that changes while it trains: what a checkpoint stores. */
export interface MemberState {
  /** Weights, optimiser moments and the like, by name. */
  readonly arrays: NamedArrays;
  /** Counters, random streams and positions: plain JSON. */
  readonly values: unknown;
}

/** A batch in training. `Policy` is what one of its members comes to. */
export interface Trainer<Policy> {
  /** Names the algorithm in checkpoints, such as `imitation`. */
  readonly algorithm: string;
  /** Iterations done. */
  readonly iteration: number;
  /** Iterations in all. A trainer that ends early lowers it to `iteration`. */
  readonly iterations: number;
  /**
   * One iteration of every member; returns the metrics of each.
   * @throws when `context.signal` aborts in the middle of it; what it learnt since the last checkpoint is then lost
   */
  iterate(context: WorkContext): Promise<readonly Metrics[]>;
  /** The policy of every member as it stands: plain arrays that outlive the trainer. */
  policies(): Promise<readonly Policy[]>;
  /** Everything each member needs to go on bit for bit. A member's state is the same alone and in a batch. */
  state(): Promise<readonly MemberState[]>;
  /**
   * Puts a freshly created trainer where the states were taken: one state a member, in their order.
   * @throws InputError naming what does not fit: another algorithm, other sizes, members at different iterations
   */
  restore(states: readonly MemberState[]): void;
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
export function valuesOf<Values>({ values }: MemberState, schema: z.ZodType<Values>): Values {
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  throw new InputError(
    `the saved state is not what this trainer expects (${problems.join('; ')}); use the Earshot that wrote it, or train again`,
  );
}
