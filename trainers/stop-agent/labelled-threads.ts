import type * as tf from '@tensorflow/tfjs-core';
import { CONTINUE, stateRow } from '../../envs/state-table.ts';
import { InputError } from '../../src/errors.ts';
import type { TaskConfig } from '../exact-return.ts';
import type { LabelledThread, StopMember } from './problem.ts';
import type { StopLearner } from './setup.ts';

/** A member's labelled threads: the rows of all their steps, and what stopping at each is worth. */
export interface LabelledRows {
  /** One thread after the other. */
  readonly rows: Int32Array;
  /** [threads][steps]. */
  readonly worths: readonly Float32Array[];
}

/** Of a member that gives its task no weight. */
export const noLabelledRows: LabelledRows = { rows: new Int32Array(0), worths: [] };

/** @throws InputError when the member has no labelled thread */
export function labelledRows({ problem, config }: StopMember): LabelledRows {
  const { labelled, table } = problem;
  if (labelled.size === 0)
    throw new InputError(
      `the task's own return needs labelled threads, and no demonstration thread has ${config.minPosts} posts; lower minPosts or give more threads`,
    );
  const rows = Array.from(labelled, ([thread, { right }]) =>
    Array.from(right, (_, step) => stateRow(table, { thread, step, previous: CONTINUE })),
  );
  return {
    rows: Int32Array.from(rows.flat()),
    worths: Array.from(labelled.values(), (thread) => worthOfStops(thread, config.task)),
  };
}

/** What stopping at each step of a labelled thread is worth: its target, less delay and calls, times the thread's weight. */
function worthOfStops(thread: LabelledThread, { target, delayCost, callCost }: TaskConfig): Float32Array {
  const { right, probability, shareSeen, calls, weight } = thread;
  const value = target === 'right' ? right : probability;
  return Float32Array.from(value, (own, step) => weight * (own - delayCost * shareSeen[step] - callCost * calls[step]));
}

/** States of the members' labelled threads, [members, rows, inputs], padded with row 0. The caller disposes them. */
export function labelledStates({ states }: StopLearner, labelled: readonly LabelledRows[]): tf.Tensor3D {
  const most = Math.max(...labelled.map(({ rows }) => rows.length));
  return states.gather(
    labelled.map(({ rows }) => {
      const padded = new Int32Array(most);
      padded.set(rows);
      return padded;
    }),
  );
}
