import type { ExpertName } from '../../experts/trajectories.ts';
import type { Occupancy, SeenThreads } from '../exact-gail.ts';
import type { DiscriminatorHealth, GailConfig } from '../gail.ts';
import { logComplement } from '../policy-value.ts';
import type { PpoConfig } from '../ppo.ts';
import { actionValues, threadStates } from '../thread-mdp.ts';
import type { Metrics } from '../trainer.ts';
import { discriminatorMetrics } from './metrics.ts';

/** What the policy does on the threads that a member sees in an iteration. */
export interface SeenPolicy {
  readonly seen: SeenThreads;
  readonly occupancy: Occupancy;
  /** [states] each. */
  readonly stopProbability: Float64Array;
  readonly stopLogProbabilities: Float32Array;
  readonly continueLogProbabilities: Float32Array;
}

/** The metrics of an iteration without a rollout: expectations of those of metrics.ts, less the critic's. */
export function exactMetrics(iteration: {
  config: GailConfig & { ppo: PpoConfig };
  /** Names the member's streams. */
  experts: readonly ExpertName[];
  policy: SeenPolicy;
  discriminator: DiscriminatorHealth;
  /** Logits of both actions in each state, CONTINUE then STOP. */
  rewards: Float32Array;
  stopLogProbabilitiesAfter: Float32Array;
  expectedReturn: number | null;
}): Metrics {
  const { config, experts, policy, discriminator, rewards, stopLogProbabilitiesAfter, expectedReturn } = iteration;
  const { occupancy, continueLogProbabilities, stopLogProbabilities } = policy;
  const totals = { meanLogit: 0, entropy: 0, kl: 0, clipped: 0 };
  for (const [state, logStop] of stopLogProbabilitiesAfter.entries()) {
    const logContinue = logComplement(logStop);
    totals.meanLogit +=
      occupancy.continuing[state] * rewards[2 * state] + occupancy.stopping[state] * rewards[2 * state + 1];
    totals.entropy -= occupancy.visits[state] * (Math.exp(logStop) * logStop + Math.exp(logContinue) * logContinue);
    const changes = [
      [occupancy.stopping[state], logStop - stopLogProbabilities[state]],
      [occupancy.continuing[state], logContinue - continueLogProbabilities[state]],
    ];
    for (const [weight, change] of changes) {
      // An action that was never taken may be infinitely likelier now; it weighs nothing.
      if (weight === 0) continue;
      const ratio = Math.exp(change);
      totals.kl += weight * (ratio - 1 - change);
      totals.clipped += weight * Number(Math.abs(ratio - 1) > config.ppo.clip);
    }
  }
  const metrics: Record<string, number> = {
    'rollout/mean_logit': totals.meanLogit,
    'rollout/mean_stop_post': meanStopStep(policy) + 1,
    'ppo/entropy': totals.entropy,
    'ppo/approximate_kl': totals.kl,
    'ppo/clip_fraction': totals.clipped,
    ...discriminatorMetrics(experts, discriminator),
  };
  if (expectedReturn !== null) metrics['task/expected_return'] = expectedReturn;
  return metrics;
}

/** The expected step of an episode's first stop, or of its last post where there is none. */
function meanStopStep({ seen, stopProbability }: SeenPolicy): number {
  let first = 0;
  let sum = 0;
  for (const { steps, goesOn } of seen.mdps) {
    const untilStop = { steps, goesOn: false };
    const own = Array.from({ length: steps }, (_, step) => first + (goesOn && step > 0 ? 2 * step - 1 : step));
    // Every post that is waited for counts one.
    const { values } = actionValues(untilStop, {
      stopProbability: own.map((state) => stopProbability[state]),
      stopRewards: new Float64Array(steps),
      continueRewards: own.map((_, step) => Number(step < steps - 1)),
      discount: 1,
    });
    sum += values[0];
    first += threadStates({ steps, goesOn });
  }
  return sum / seen.mdps.length;
}
