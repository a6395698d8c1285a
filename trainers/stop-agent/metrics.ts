import type { ExpertName } from '../../experts/trajectories.ts';
import type { DiscriminatorHealth, GailConfig } from '../gail.ts';
import type { PpoConfig, PpoSteps } from '../ppo.ts';
import { ppoDiagnostics } from '../ppo-diagnostics.ts';
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
