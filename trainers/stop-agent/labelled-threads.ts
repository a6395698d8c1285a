import { CONTINUE, stateRow } from '../../envs/state-table.ts';
import { InputError } from '../../src/errors.ts';
import type { RowTables } from '../../src/tensor/row-tables.ts';
import { type LabelledBatch, labelledBatch, type StopRewards, type TaskConfig } from '../exact-policy-gradient.ts';
import type { LabelledThread, StopMember } from './problem.ts';

/** The labelled threads of one member: the rows of all their steps, one thread after the other, and the rewards of stops. */
export interface LabelledRows {
  readonly rows: Int32Array;
  readonly stopRewards: StopRewards;
}

/**
 * The labelled threads of a batch, as the loss takes them. The caller disposes it.
 * @throws InputError when a member gives its task a weight and has no labelled thread
 */
export function labelledThreads(
  members: readonly StopMember[],
  { states, weights }: { states: RowTables; weights: readonly number[] },
): LabelledBatch {
  const own = members.map(
    (member, index): LabelledRows =>
      weights[index] > 0 ? labelledRows(member) : { rows: new Int32Array(0), stopRewards: [] },
  );
  return labelledBatch(states.gatherPadded(own.map(({ rows }) => rows)), {
    stopRewards: own.map(({ stopRewards }) => stopRewards),
    weights,
  });
}

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
    stopRewards: Array.from(labelled.values(), (thread) => rewardsOfStops(thread, config.task)),
  };
}

/**
 * What stopping at each step of a labelled thread is worth: its target, less delay and queries, times the thread's weight. With costs
 * of the user's it is minus those, and every thread counts once.
 */
function rewardsOfStops(thread: LabelledThread, { target, delayCost, queryCost }: TaskConfig): Float32Array {
  const { right, probability, shareSeen, queries, weight, costs } = thread;
  if (costs !== undefined) return (target === 'right' ? costs.decided : costs.expected).map((cost) => -cost);
  const value = target === 'right' ? right : probability;
  return Float32Array.from(
    value,
    (own, step) => weight * (own - delayCost * shareSeen[step] - queryCost * queries[step]),
  );
}
