import type { ExpertName } from '../../experts/trajectories.ts';
import type { DiscriminatorHealth } from '../discriminator.ts';
import type { GailConfig } from '../gail.ts';
import { logComplement, type RowScores } from '../policy-value.ts';
import type { PpoConfig, PpoSteps } from '../ppo.ts';
import type { Metrics } from '../trainer.ts';
import type { EstimatedSteps } from './rollout.ts';

/** The metrics of one member's iteration, by their names in the metrics log. */
export function imitationMetrics(iteration: {
  config: GailConfig & { ppo: PpoConfig };
  /** Names the member's streams. */
  experts: readonly ExpertName[];
  discriminator: DiscriminatorHealth;
  steps: EstimatedSteps;
  /** What the policy and the value say of the steps after the update. */
  after: RowScores;
  expectedReturn: number | null;
}): Metrics {
  const { config, experts, discriminator, steps, after, expectedReturn } = iteration;
  const stops = Array.from(steps.steps).filter((_, step) => steps.decides[step] === 1);
  const episodes = steps.ends.reduce((sum, end) => sum + end, 0);
  return {
    'rollout/mean_logit': meanOf(steps.logits),
    'rollout/mean_return': (meanOf(steps.rewards) * steps.rewards.length) / Math.max(1, episodes),
    ...(stops.length > 0 && { 'rollout/mean_stop_post': meanOf(stops) + 1 }),
    ...ppoDiagnostics(config.ppo, steps, after),
    ...discriminatorMetrics(experts, discriminator),
    ...(expectedReturn !== null && { 'task/expected_return': expectedReturn }),
  };
}

/**
 * How far an update of a two-action policy went, over the whole batch: clipped surrogate and value loss, entropy, the
 * k3 estimate of the KL divergence (Schulman 2020, http://joschu.net/blog/kl-approx.html), share of clipped ratios,
 * and the variance of the returns that the old values explained.
 */
function ppoDiagnostics({ clip }: PpoConfig, steps: PpoSteps, after: RowScores): Record<string, number> {
  const { actions, advantages, returns, logProbabilities, values: oldValues } = steps;
  const { stopLogProbabilities, values } = after;
  const count = actions.length;
  const totals = { policyLoss: 0, valueLoss: 0, entropy: 0, kl: 0, clipped: 0 };
  for (let step = 0; step < count; step++) {
    const logStop = stopLogProbabilities[step];
    const logContinue = logComplement(logStop);
    const change = (actions[step] === 1 ? logStop : logContinue) - logProbabilities[step];
    const ratio = Math.exp(change);
    const clippedRatio = Math.max(1 - clip, Math.min(1 + clip, ratio));
    totals.policyLoss -= Math.min(ratio * advantages[step], clippedRatio * advantages[step]) / count;
    totals.valueLoss += (0.5 * (values[step] - returns[step]) ** 2) / count;
    totals.entropy -= (Math.exp(logStop) * logStop + Math.exp(logContinue) * logContinue) / count;
    totals.kl += (ratio - 1 - change) / count;
    totals.clipped += Number(Math.abs(ratio - 1) > clip) / count;
  }
  const residuals = returns.map((value, step) => value - oldValues[step]);
  const spread = variance(returns);
  return {
    'ppo/policy_loss': totals.policyLoss,
    'ppo/value_loss': totals.valueLoss,
    'ppo/entropy': totals.entropy,
    'ppo/approximate_kl': totals.kl,
    'ppo/clip_fraction': totals.clipped,
    'ppo/explained_variance': spread === 0 ? 0 : 1 - variance(residuals) / spread,
  };
}

function variance(values: Float32Array): number {
  let mean = 0;
  for (const value of values) mean += value / values.length;
  let sum = 0;
  for (const value of values) sum += (value - mean) ** 2 / values.length;
  return sum;
}

/** How well the discriminator tells the agent's steps and each expert's, and how smooth it is. `experts` names the member's streams. */
function discriminatorMetrics(experts: readonly ExpertName[], discriminator: DiscriminatorHealth): Metrics {
  const { agent, saysExpert, penalty } = discriminator;
  const metrics: Record<string, number> = { 'discriminator/accuracy_agent': agent };
  for (const [set, expert] of experts.entries()) {
    const share = saysExpert[set];
    if (share !== null) metrics[`discriminator/says_expert_${expert}`] = share;
  }
  if (penalty !== null) metrics['discriminator/penalty'] = penalty;
  return metrics;
}

function meanOf(values: Float32Array | readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}
