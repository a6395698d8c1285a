import type { PpoConfig } from '../config.ts';
import type { DiscriminatorOutcome } from '../discriminator.ts';
import type { GailIteration } from '../gail.ts';
import { logComplement, type RowScores } from '../policy-value.ts';
import type { PpoSteps } from '../ppo.ts';
import type { Metrics } from '../trainer.ts';

/** The metrics of an iteration, by their names in the metrics log. */
export function imitationMetrics(
  { ppo }: { readonly ppo: PpoConfig },
  { steps, outcomes, after, expectedReturn }: GailIteration,
): Metrics {
  const stops = steps.steps.filter((_, step) => steps.decides[step] === 1);
  const episodes = steps.ends.reduce((sum, end) => sum + end, 0);
  return {
    'rollout/mean_logit': meanOf(steps.logits),
    'rollout/mean_return': (meanOf(steps.rewards) * steps.rewards.length) / Math.max(1, episodes),
    ...(stops.length > 0 && { 'rollout/mean_stop_post': meanOf(stops) + 1 }),
    ...ppoDiagnostics(ppo, steps, after),
    ...discriminatorMetrics(outcomes),
    ...(expectedReturn !== null && { 'task/expected_return': expectedReturn }),
  };
}

/**
 * How far an update of a two-action policy went, over all steps: clipped surrogate and value loss, entropy, the
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
  for (let step = 0; step < values.length; step++) mean += values[step] / values.length;
  let sum = 0;
  for (let step = 0; step < values.length; step++) sum += (values[step] - mean) ** 2 / values.length;
  return sum;
}

/** How well the discriminators tell the agent's steps and each expert's, and how smooth they are: means, but the penalties are added up. */
function discriminatorMetrics(outcomes: readonly DiscriminatorOutcome[]): Metrics {
  const all = outcomes.map(({ health }) => health);
  const penalties = all.flatMap(({ penalty }) => penalty ?? []);
  const experts = all.flatMap(({ saysExpert }) => saysExpert);
  return {
    'discriminator/accuracy_agent': all.reduce((sum, { agent }) => sum + agent, 0) / all.length,
    ...Object.fromEntries(experts.map(({ name, share }) => [`discriminator/says_expert_${name}`, share])),
    ...(penalties.length > 0 && { 'discriminator/penalty': penalties.reduce((sum, penalty) => sum + penalty, 0) }),
  };
}

function meanOf(values: Float32Array | Int32Array): number {
  let sum = 0;
  for (let step = 0; step < values.length; step++) sum += values[step];
  return sum / values.length;
}
