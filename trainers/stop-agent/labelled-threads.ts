import { CONTINUE, stateRow } from '../../envs/state-table.ts';
import { InputError } from '../../src/errors.ts';
import type { TaskConfig } from '../config.ts';
import type { StopRewards } from '../exact-policy-gradient.ts';
import type { LabelledThread, StopAgentSettings } from './problem.ts';

/** Labelled threads by their place in the table. @throws InputError when there are none, which begins with who needs some */
export function labelledOf(
  { problem, config }: StopAgentSettings,
  { needs }: { needs: string },
): StopAgentSettings['problem']['labelled'] {
  if (problem.labelled.size > 0) return problem.labelled;
  throw new InputError(
    `${needs}, and none has ${config.minPosts} posts; lower agent.minPosts, or give threads with more posts`,
  );
}

/**
 * The rows of all steps of the labelled threads, one thread after the other, and the rewards of stops.
 * @throws InputError when there are none
 */
export function labelledRows(settings: StopAgentSettings): { rows: Int32Array; stopRewards: StopRewards } {
  const labelled = labelledOf(settings, { needs: "the task's own return needs labelled demonstration threads" });
  const { config, problem } = settings;
  const { table } = problem;
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
