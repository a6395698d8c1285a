import { applyStoppingRule, optimalStopping } from '../../src/data/synthetic/stream.ts';
import { hoursSinceClaim, type Thread } from '../../src/data/thread.ts';
import type { SystemDecisions } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';

/** The best stopping rule of the synthetic stream, in tables and on the front. */
export const optimumName = 'Bayes-optimal rule';

/**
 * Decisions of the best rule for the synthetic stream, at the agent's cost of delay. It knows how the stream is made, reads the
 * evidence of every post and asks no detector, so an agent cannot expect to earn more.
 * @returns null for other threads, and where no cost of delay is set
 */
export function streamOptimum(experiment: Experiment, threads: readonly Thread[]): SystemDecisions | null {
  const { data, agent } = experiment;
  const task = taskOf(experiment);
  const hasCost = agent.algorithm === 'exact-policy-gradient' || agent.imitation.taskWeight > 0;
  if (data.threads !== null || task.name !== 'rumor' || !hasCost) return null;
  const { rule } = optimalStopping({ ...data.synthetic, delayCostPerThread: agent.task.delayCost });
  const decisions = applyStoppingRule(rule, threads).map(({ threadId, postsUsed, rumor }, index) => {
    const thread = threads[index];
    return {
      system: optimumName,
      threadId,
      gold: task.goldLabel(thread) ?? -1,
      predicted: task.labels.indexOf(rumor ? 'rumor' : 'non-rumor'),
      postsUsed,
      posts: thread.posts.length,
      hours: hoursSinceClaim(thread, postsUsed - 1),
      queries: 0,
    };
  });
  return { name: optimumName, queries: 'oracle', decisions };
}
