import * as tf from '@tensorflow/tfjs-core';
import { CONTINUE } from '../../envs/state-table.ts';
import { episodeLength, nextThreads } from '../../envs/stop-env.ts';
import type { ExpertName } from '../../experts/trajectories.ts';
import type { DiscriminatorHealth } from '../discriminator.ts';
import {
  type ExactAdvantages,
  exactAdvantages,
  type Occupancy,
  occupancyOf,
  type SeenThreads,
  updateDiscriminatorExactly,
} from '../exact-gail.ts';
import { exactPpoUpdate, standardizedAdvantages } from '../exact-ppo.ts';
import { expertWeights, type GailConfig } from '../gail.ts';
import { logComplement } from '../policy-value.ts';
import type { PpoConfig } from '../ppo.ts';
import { actionValues, type ThreadMdps, threadStates, threadsOf, withFinalStops } from '../thread-mdp.ts';
import type { Metrics } from '../trainer.ts';
import {
  byMember,
  discriminatorEpochs,
  discriminatorMembers,
  type Imitation,
  type ImitationMember,
  memberHealth,
  memberRewards,
  perDiscriminator,
} from './imitation-state.ts';
import { discriminatorMetrics } from './metrics.ts';
import { stopLogProbabilitiesOf } from './rollout.ts';
import type { StopLearner } from './setup.ts';

/** One iteration of EARD's Algorithm 1 without a rollout: see trainers/exact-gail.ts. */
export async function iterateExactly(training: Imitation): Promise<Metrics[]> {
  const { learner, members } = training;
  const seen = members.map(threadsToSee);
  const observations = observationsOf(learner, seen);
  const policies = await scoredPolicies(training, { seen, observations });
  const seenByDiscriminators = perDiscriminator(members, seen);
  const isShared = seenByDiscriminators.length === seen.length;
  const agentStates = isShared ? observations : observationsOf(learner, seenByDiscriminators);
  const { health, logits } = await discriminate(training, { policies, agentStates });
  const rewards = byMember(members, logits).map((own, index) => memberRewards(members[index], own));
  const advantages = policies.map(({ seen, stopProbability }, member) =>
    exactAdvantages(seen.mdps, {
      stopProbability,
      rewards: rewards[member].rewards,
      discount: members[member].config.ppo.discount,
    }),
  );
  const { returns, after } = await updatePolicy(training, { policies, advantages, observations });
  tf.dispose([observations, agentStates]);
  return members.map((member, index) =>
    exactMetrics({
      config: member.config,
      experts: training.experts,
      policy: policies[index],
      discriminator: health[index],
      logits: rewards[index].logits,
      stopLogProbabilitiesAfter: after[index],
      expectedReturn: member.config.taskWeight > 0 ? (returns?.[index] ?? null) : null,
    }),
  );
}

/** Whole threads, as many as the steps of a rollout fill. */
function threadsToSee({ environment, environmentState, config, random }: ImitationMember): SeenThreads {
  const threads = nextThreads(environment, environmentState, {
    steps: config.ppo.stepsPerIteration,
    shuffle: (length) => random.permutation(length),
  });
  const goesOn = environment.episodeEnd === 'last-post';
  const steps = threads.map((thread) => episodeLength(environment, thread));
  const { firstRows } = environment.table;
  const rows = threads.flatMap((thread, index) =>
    Array.from({ length: threadStates(steps[index], goesOn) }, (_, state) => {
      // Without states after a stop, only the first of each step's two rows is reached.
      const row = goesOn || state === 0 ? state : 2 * state - 1;
      return firstRows[thread] + row;
    }),
  );
  return { rows: Int32Array.from(rows), mdps: { steps, goesOn } };
}

function observationsOf({ states }: StopLearner, seen: readonly SeenThreads[]): tf.Tensor3D {
  return states.gatherPadded(seen.map(({ rows }) => rows));
}

function countsOf(seen: readonly SeenThreads[]): number[] {
  return seen.map(({ rows }) => rows.length);
}

async function scoredPolicies(
  { learner, members }: Imitation,
  { seen, observations }: { seen: readonly SeenThreads[]; observations: tf.Tensor3D },
): Promise<SeenPolicy[]> {
  const scored = await stopLogProbabilitiesOf(learner, { observations, states: countsOf(seen) });
  return seen.map((own, member) => {
    const stopLogProbabilities = scored[member];
    const chosen = Float64Array.from(stopLogProbabilities, Math.exp);
    const stopIsFinal = members[member].config.afterStop === 'stop';
    const stopProbability = stopIsFinal ? withFinalStops(own.mdps, chosen) : chosen;
    const occupancy = occupancyOf(own.mdps, stopProbability);
    return {
      seen: own,
      occupancy,
      choices: stopIsFinal ? choicesOf(own.mdps, occupancy) : occupancy,
      stopProbability,
      stopLogProbabilities,
      continueLogProbabilities: stopLogProbabilities.map(logComplement),
    };
  });
}

/** The occupancy of the states where the agent chooses, none of them after a stop, scaled to sum to 1. */
function choicesOf(mdps: ThreadMdps, { visits, stopping, continuing }: Occupancy): Occupancy {
  const isAfterStop = withFinalStops(mdps, new Float64Array(visits.length));
  const share = visits.reduce((sum, visit, state) => (isAfterStop[state] ? sum : sum + visit), 0);
  const scaled = (values: Float32Array) => values.map((value, state) => (isAfterStop[state] ? 0 : value / share));
  return { visits: scaled(visits), stopping: scaled(stopping), continuing: scaled(continuing) };
}

async function discriminate(
  training: Imitation,
  { policies, agentStates }: { policies: readonly SeenPolicy[]; agentStates: tf.Tensor3D },
): Promise<{ health: DiscriminatorHealth[]; logits: Float32Array[] }> {
  const { learner, members, discriminator } = training;
  const { states } = learner;
  const seen = perDiscriminator(members, policies);
  const { health, logits } = await updateDiscriminatorExactly(
    discriminator,
    discriminatorMembers(members).map((own, place) => ({
      ...own,
      seen: seen[place].seen,
      occupancy: seen[place].occupancy,
      expertWeights: expertWeights(own),
    })),
    { states, agentStates, epochs: discriminatorEpochs(training) },
  );
  return { health: byMember(members, health).map(memberHealth), logits };
}

function updatePolicy(
  { learner, members, iteration, task }: Imitation,
  {
    policies,
    advantages,
    observations,
  }: { policies: readonly SeenPolicy[]; advantages: readonly ExactAdvantages[]; observations: tf.Tensor3D },
): ReturnType<typeof exactPpoUpdate> {
  const remaining = 1 - iteration / learner.members[0].config.iterations;
  const improved = policies.map((policy, member) => ({
    ...policy,
    occupancy: policy.choices,
    config: members[member].config.ppo,
    advantages: standardizedAdvantages(advantages[member], policy.choices),
  }));
  return exactPpoUpdate(learner.agent, improved, { observations, remaining, task });
}

/** What the policy does on the threads that a member sees in an iteration. */
interface SeenPolicy {
  readonly seen: SeenThreads;
  readonly occupancy: Occupancy;
  /** The same where the agent chooses: what its policy is improved on. */
  readonly choices: Occupancy;
  /** [states] each. */
  readonly stopProbability: Float64Array;
  readonly stopLogProbabilities: Float32Array;
  readonly continueLogProbabilities: Float32Array;
}

/** The metrics of an iteration without a rollout: expectations of those of metrics.ts, less the critic's. */
function exactMetrics(iteration: {
  config: GailConfig & { ppo: PpoConfig };
  /** Names the member's streams. */
  experts: readonly ExpertName[];
  policy: SeenPolicy;
  discriminator: DiscriminatorHealth;
  /** Of both actions in each state, CONTINUE then STOP, high for experts: [states, 2]. */
  logits: Float32Array;
  stopLogProbabilitiesAfter: Float32Array;
  expectedReturn: number | null;
}): Metrics {
  const { config, experts, policy, discriminator, logits, stopLogProbabilitiesAfter, expectedReturn } = iteration;
  const { occupancy, choices, continueLogProbabilities, stopLogProbabilities } = policy;
  const totals = { meanLogit: 0, entropy: 0, kl: 0, clipped: 0 };
  for (const [state, logStop] of stopLogProbabilitiesAfter.entries()) {
    const logContinue = logComplement(logStop);
    totals.meanLogit +=
      occupancy.continuing[state] * logits[2 * state] + occupancy.stopping[state] * logits[2 * state + 1];
    totals.entropy -= choices.visits[state] * (Math.exp(logStop) * logStop + Math.exp(logContinue) * logContinue);
    const changes = [
      [choices.stopping[state], logStop - stopLogProbabilities[state]],
      [choices.continuing[state], logContinue - continueLogProbabilities[state]],
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
function meanStopStep({ seen: { mdps }, stopProbability }: SeenPolicy): number {
  const states = Array.from(threadsOf(mdps), ({ steps, stateOf }) =>
    // Every post that is waited for counts one.
    Array.from({ length: steps }, (_, step) => ({
      stop: stopProbability[stateOf(step, CONTINUE)],
      waits: step < steps - 1,
    })),
  ).flat();
  const untilStop = { steps: mdps.steps, goesOn: false };
  const { values } = actionValues(untilStop, {
    stopProbability: Float64Array.from(states, ({ stop }) => stop),
    rewards: Float64Array.from(states.flatMap(({ waits }) => [Number(waits), 0])),
    discount: 1,
  });
  const sum = Array.from(threadsOf(untilStop), ({ first }) => values[first]).reduce((total, own) => total + own, 0);
  return sum / mdps.steps.length;
}
