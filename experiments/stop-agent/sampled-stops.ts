import type { QueryPlan } from '../../checkpoints/policy/policy.ts';
import { queriesUntil } from '../../checkpoints/policy/replay.ts';
import type { Task } from '../../src/data/task.ts';
import { expectedMacroF1 } from '../../src/metrics/expected-macro-f1.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import type { StopAgentConfig } from '../../trainers/stop-agent/config.ts';
import { countingScores, type TestThread } from './decisions.ts';

/*
 * A policy read as what it is in training: it stops at a post with probability π(stop), and not wherever that exceeds one half.
 * Before its stop it has only continued, so the chain of its states is known and expectations over the draws are sums.
 */

/** What an agent is expected to score that draws its stops. */
export interface SampledScores {
  readonly macroF1: number;
  readonly er: number;
  readonly queriesPerThread: number;
}

/** How likely the stop is at each post, [posts]; they sum to 1, for the last post that it acts at decides in any case. */
export function stopChances(
  stopProbability: readonly number[],
  lastPost: StopAgentConfig['lastPost'] = 'decision',
): Float64Array {
  const posts = stopProbability.length;
  const last = lastPost === 'decision' ? posts - 1 : Math.max(0, posts - 2);
  let going = 1;
  return Float64Array.from(stopProbability, (probability, step) => {
    const chance = step > last ? 0 : going * (step === last ? 1 : probability);
    going *= 1 - probability;
    return chance;
  });
}

/**
 * @param options.stopProbabilities π(stop) of the agent at every post, by thread
 * @param options.queries when the agent queries the detector
 */
export function sampledScores(
  threads: readonly TestThread[],
  options: {
    stopProbabilities: ReadonlyMap<string, readonly number[]>;
    lastPost: StopAgentConfig['lastPost'];
    queries: QueryPlan;
    task: Pick<Task, 'labels' | 'alerts'>;
  },
): SampledScores {
  const { stopProbabilities, lastPost, queries, task } = options;
  const classes = task.labels.length;
  const chances = new Float64Array(threads.length * classes);
  const shares: number[] = [];
  const asked: number[] = [];
  for (const [index, thread] of threads.entries()) {
    const { threadId, sequence } = thread;
    const own = stopProbabilities.get(threadId);
    if (own === undefined) throw new Error(`thread ${threadId} was decided, and its stop probabilities are not known`);
    const { predicted } = sequence;
    let share = 0;
    let expected = 0;
    for (const [step, chance] of stopChances(countingScores(thread, own, task), lastPost).entries()) {
      if (chance === 0) continue;
      const label = predicted[Math.min(step, predicted.length - 1)];
      if (label >= 0) chances[index * classes + label] += chance;
      share += (chance * (step + 1)) / own.length;
      expected += chance * queriesUntil({ ...queries, maxPosts: predicted.length }, step + 1);
    }
    shares.push(share);
    asked.push(expected);
  }
  const gold = threads.map(({ goldLabel }) => goldLabel);
  return {
    macroF1: expectedMacroF1({ gold, chances, classes }),
    er: mean(shares),
    queriesPerThread: mean(asked),
  };
}
