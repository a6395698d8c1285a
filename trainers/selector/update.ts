import type { Step } from './choice.ts';
import { addEntropyGradient, addExpectedRewardGradient, addLogProbabilityGradient, ascend } from './policy.ts';
import type { Level, SelectorTraining } from './setup.ts';

/** The steps of a claim at both levels, with their rewards. */
export interface ClaimTrajectory {
  readonly steps: readonly Step[];
  readonly rewards: readonly number[];
  readonly step: Step;
  /** Of retaining the claim. */
  readonly reward: number;
  /** The sign of the reward if the claim is discarded. */
  readonly whenDiscarded: -1 | 1;
}

/**
 * §4.4: up the gradient of the mean over claims of `R log π(A, S) + mean_j r_j log π(a_j, s_j)`. The reward of either action on
 * a claim is known, so with `claimGradient: exact` its term is the expectation over A: its gradient, where discarding earns −R,
 * is 2 R π (1 − π) ∇ logit. So is that of a post with `postReward: counterfactual`, which knows what either action on it earns.
 */
export function updatePolicies(
  training: SelectorTraining,
  { learnt, updatesAnEpoch }: { learnt: readonly ClaimTrajectory[]; updatesAnEpoch: number },
): void {
  const { config } = training.settings;
  const isExact = config.claimGradient === 'exact';
  const weighted: Record<Level, { step: Step; reward: number; share: number; advantage?: number }[]> = {
    claims: learnt.map(({ step, reward, whenDiscarded }) => ({
      step,
      reward: isExact || step.action === 1 ? reward : whenDiscarded * reward,
      share: 1 / learnt.length,
      ...(isExact && { advantage: 1 - whenDiscarded }),
    })),
    posts: learnt.flatMap(({ steps, rewards }) =>
      steps.map((step, index) => ({
        step,
        reward: rewards[index],
        share: 1 / (learnt.length * steps.length),
        // The reward is that of this action less that of the other.
        ...(config.postReward === 'counterfactual' && { advantage: step.action === 1 ? 1 : -1 }),
      })),
    ),
  };
  for (const level of ['posts', 'claims'] as const) {
    const policy = training.policies[level];
    const gradient = new Float64Array(policy.parameters.length);
    // The mean before this update. Steps of a claim share rewards, and a baseline that contains a step's own reward biases
    // its gradient.
    const baseline = config.baseline === 'running-mean' ? training.rewards[level].mean : 0;
    let steps = 0;
    for (const { step, reward, share, advantage } of weighted[level]) {
      const { state, action } = step;
      if (state === null) continue;
      const credit = creditOf(training, level, reward);
      // A baseline would cancel out of an expectation over both actions.
      if (advantage !== undefined)
        addExpectedRewardGradient(policy, { state, advantage: advantage * credit, weight: share, gradient });
      else addLogProbabilityGradient(policy, { state, action, weight: share * (credit - baseline), gradient });
      if (config.entropy > 0) addEntropyGradient(policy, { state, weight: share * config.entropy, gradient });
      steps++;
    }
    if (steps === 0) continue;
    const warmupUpdates = config.warmup * config.epochs * updatesAnEpoch;
    const warmth = Math.min(1, (policy.updates + 1) / Math.max(1, warmupUpdates));
    ascend(policy, { gradient, learningRate: config.learningRate * warmth });
  }
}

/** Rewards kept for the null control to draw from. */
const recentRewards = 1000;
/** The least weight of the newest reward in the running mean, so that the mean follows the policy. */
const smallestShare = 0.001;

/** Records the reward of a step. @returns that reward, or under the null control a random recent one */
function creditOf(training: SelectorTraining, level: Level, reward: number): number {
  const history = training.rewards[level];
  history.count++;
  history.mean += (reward - history.mean) * Math.max(smallestShare, 1 / history.count);
  if (training.settings.config.control === 'none') return reward;
  history.recent.push(reward);
  if (history.recent.length > recentRewards) history.recent.shift();
  return history.recent[training.random.integer(history.recent.length)];
}
