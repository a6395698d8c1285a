import { CONTINUE, stateRow } from '../../envs/state-table.ts';
import { InputError } from '../../src/errors.ts';
import type { RowTable } from '../../src/tensor/row-table.ts';
import type { TaskConfig } from '../config.ts';
import { type LabelledBatch, labelledBatch, type StopRewards } from '../exact-policy-gradient.ts';
import type { LabelledThread, StopAgentSettings } from './problem.ts';

/** Labelled threads: the rows of all their steps, one thread after the other, and the rewards of stops. */
export interface LabelledRows {
  readonly rows: Int32Array;
  readonly stopRewards: StopRewards;
}

/**
 * The labelled threads as the loss takes them. The caller disposes them.
 * @throws InputError when there are none
 */
export function labelledThreads(
  settings: StopAgentSettings,
  { states, weight }: { states: RowTable; weight: number },
): LabelledBatch {
  const { rows, stopRewards } = labelledRows(settings);
  return labelledBatch(states.takePadded(rows), { stopRewards, weight });
}

/** @throws InputError when there are none */
export function labelledRows({ problem, config }: StopAgentSettings): LabelledRows {
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
    stopRewards: Array.from(labelled.values(), (thread) => rewardsOfStops(thread, config.task)),
  };
}

/**
 * Rewards of stopping at each step of a labelled thread: its target, less delay and queries, times the thread's weight. With costs
 * of the user's it is minus those, and every thread counts once.
 */
function rewardsOfStops(thread: LabelledThread, { target, delayCost, queryCost }: TaskConfig): Float32Array {
  const { right, probability, shareSeen, queries, weight, costs } = thread;
  if (costs !== undefined) return (target === 'right' ? costs.decided : costs.expected).map((cost) => -cost);
  const value = target === 'right' ? right : probability;
  return Float32Array.from(
    value,
    (value, step) => weight * (value - delayCost * shareSeen[step] - queryCost * queries[step]),
  );
}
