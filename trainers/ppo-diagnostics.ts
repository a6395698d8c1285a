import { logComplement } from './policy-value.ts';
import type { PpoConfig } from './ppo.ts';

/** One agent's batch before and after its update, [steps] each. */
export interface PpoUpdateRecord {
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
export function ppoDiagnostics(record: PpoUpdateRecord): Record<string, number> {
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
