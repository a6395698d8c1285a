import type { ExpertName } from '../../experts/trajectories.ts';
import type { DiscriminatorHealth } from '../discriminator-health.ts';
import type { GailConfig } from '../gail.ts';
import { logComplement } from '../policy-value.ts';
import type { PpoConfig, PpoSteps } from '../ppo.ts';
import type { Metrics } from '../trainer.ts';
import type { Collected, RowScores } from './rollout.ts';

/** The metrics of one member's iteration, by their names in the metrics log. */
export function imitationMetrics(iteration: {
  config: GailConfig & { ppo: PpoConfig };
  /** Names the member's streams. */
  experts: readonly ExpertName[];
  collected: Collected;
  discriminator: DiscriminatorHealth;
  rewards: { logits: Float32Array; scaled: Float32Array };
  steps: PpoSteps;
  /** What the policy and the value say of the steps after the update. */
  after: RowScores;
  expectedReturn: number | null;
}): Metrics {
  const { config, experts, collected, discriminator, rewards, steps, after, expectedReturn } = iteration;
  const stops = Array.from(collected.steps).filter((_, step) => collected.decides[step] === 1);
  const episodes = collected.ends.reduce((sum, end) => sum + end, 0);
  const metrics: Record<string, number> = {
    'rollout/mean_logit': meanOf(rewards.logits),
    'rollout/mean_return': (meanOf(rewards.scaled) * rewards.scaled.length) / Math.max(1, episodes),
  };
  if (stops.length > 0) metrics['rollout/mean_stop_post'] = meanOf(stops) + 1;
  Object.assign(
    metrics,
    ppoDiagnostics({
      config: config.ppo,
      actions: steps.actions,
      oldLogProbabilities: steps.logProbabilities,
      oldValues: steps.values,
      advantages: steps.advantages,
      returns: steps.returns,
      stopLogProbabilities: after.stopLogProbabilities,
      values: after.values,
    }),
  );
  Object.assign(metrics, discriminatorMetrics(experts, discriminator));
  if (expectedReturn !== null) metrics['task/expected_return'] = expectedReturn;
  return metrics;
}

/** One agent's batch before and after its update, [steps] each. */
interface PpoUpdateRecord {
  readonly config: PpoConfig;
  readonly actions: Uint8Array;
  readonly oldLogProbabilities: Float32Array;
  readonly oldValues: Float32Array;
  readonly advantages: Float32Array;
  readonly returns: Float32Array;
  /** After the update: log π(action 1) and V. */
  readonly stopLogProbabilities: Float32Array;
  readonly values: Float32Array;
}

/**
 * How far an update of a two-action policy went, over the whole batch: clipped surrogate and value loss, entropy, the
 * k3 estimate of the KL divergence (Schulman 2020, http://joschu.net/blog/kl-approx.html), share of clipped ratios,
 * and the variance of the returns that the old values explained.
 */
function ppoDiagnostics(record: PpoUpdateRecord): Record<string, number> {
  const { config, actions, advantages, returns, oldValues, values } = record;
  const steps = actions.length;
  const totals = { policyLoss: 0, valueLoss: 0, entropy: 0, kl: 0, clipped: 0 };
  for (let step = 0; step < steps; step++) {
    const logStop = record.stopLogProbabilities[step];
    const logContinue = logComplement(logStop);
    const change = (actions[step] === 1 ? logStop : logContinue) - record.oldLogProbabilities[step];
    const ratio = Math.exp(change);
    const clippedRatio = Math.max(1 - config.clip, Math.min(1 + config.clip, ratio));
    totals.policyLoss -= Math.min(ratio * advantages[step], clippedRatio * advantages[step]) / steps;
    totals.valueLoss += (0.5 * (values[step] - returns[step]) ** 2) / steps;
    totals.entropy -= (Math.exp(logStop) * logStop + Math.exp(logContinue) * logContinue) / steps;
    totals.kl += (ratio - 1 - change) / steps;
    totals.clipped += Number(Math.abs(ratio - 1) > config.clip) / steps;
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
export function discriminatorMetrics(experts: readonly ExpertName[], discriminator: DiscriminatorHealth): Metrics {
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
