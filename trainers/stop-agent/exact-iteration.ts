import { episodeLength, nextThreads } from '../../envs/stop-env.ts';
import {
  type ExactAdvantages,
  exactAdvantages,
  exactRewards,
  occupancyOf,
  type SeenThreads,
  updateDiscriminatorExactly,
} from '../exact-gail.ts';
import { exactPpoUpdate, standardizedAdvantages } from '../exact-ppo.ts';
import { type DiscriminatorHealth, expertWeights } from '../gail.ts';
import { logComplement } from '../policy-value.ts';
import { threadStates } from '../thread-mdp.ts';
import type { Metrics } from '../trainer.ts';
import { exactMetrics, type SeenPolicy } from './exact-metrics.ts';
import { discriminatorEpochs, type Imitation, type ImitationMember, type ImitationPhase } from './imitation-state.ts';
import { scoreRows } from './rollout.ts';

/** One iteration of EARD's Algorithm 1 without a rollout: see trainers/exact-gail.ts. */
export async function iterateExactly(
  training: Imitation,
  { onPhase }: { onPhase: (phase: ImitationPhase) => void },
): Promise<Metrics[]> {
  const { members } = training;
  onPhase('rollout');
  const policies = await scoredPolicies(training, members.map(threadsToSee));
  onPhase('discriminator');
  const health = await discriminate(training, policies);
  onPhase('rewards');
  const rewards = await exactRewards(training.discriminator, {
    states: training.learner.states,
    seen: policies.map(({ seen }) => seen),
  });
  const advantages = policies.map(({ seen, stopProbability }, member) =>
    exactAdvantages(seen.mdps, {
      stopProbability,
      rewards: rewards[member],
      discount: members[member].config.ppo.discount,
    }),
  );
  onPhase('policy');
  const task = await updatePolicy(training, { policies, advantages });
  onPhase('metrics');
  const after = await scoreRows(
    training.learner,
    policies.map(({ seen }) => seen.rows),
  );
  return members.map((member, index) =>
    exactMetrics({
      config: member.config,
      experts: training.experts,
      policy: policies[index],
      discriminator: health[index],
      rewards: rewards[index],
      stopLogProbabilitiesAfter: after[index].stopLogProbabilities,
      expectedReturn: member.config.taskWeight > 0 ? (task?.[index] ?? null) : null,
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
  const mdps = threads.map((thread) => ({ steps: episodeLength(environment, thread), goesOn }));
  const { firstRows } = environment.table;
  const rows = mdps.flatMap((mdp, index) =>
    Array.from({ length: threadStates(mdp) }, (_, state) => {
      // Without states after a stop, only the first of each step's two rows is reached.
      const row = goesOn || state === 0 ? state : 2 * state - 1;
      return firstRows[threads[index]] + row;
    }),
  );
  return { rows: Int32Array.from(rows), mdps };
}

async function scoredPolicies({ learner }: Imitation, seen: readonly SeenThreads[]): Promise<SeenPolicy[]> {
  const scored = await scoreRows(
    learner,
    seen.map(({ rows }) => rows),
  );
  return seen.map((own, member) => {
    const { stopLogProbabilities } = scored[member];
    const stopProbability = Float64Array.from(stopLogProbabilities, Math.exp);
    return {
      seen: own,
      occupancy: occupancyOf(own.mdps, stopProbability),
      stopProbability,
      stopLogProbabilities,
      continueLogProbabilities: stopLogProbabilities.map(logComplement),
    };
  });
}

function discriminate(training: Imitation, policies: readonly SeenPolicy[]): Promise<DiscriminatorHealth[]> {
  const { learner, members, discriminator, experts } = training;
  const { states } = learner;
  return updateDiscriminatorExactly(
    discriminator,
    members.map((member, index) => ({
      config: member.config,
      random: member.random,
      streams: member.streams,
      seen: policies[index].seen,
      occupancy: policies[index].occupancy,
      experts: expertWeights(member, experts),
    })),
    { states, epochs: discriminatorEpochs(training) },
  );
}

function updatePolicy(
  { learner, members, iteration, task }: Imitation,
  { policies, advantages }: { policies: readonly SeenPolicy[]; advantages: readonly ExactAdvantages[] },
): Promise<Float32Array | null> {
  const remaining = 1 - iteration / learner.members[0].config.iterations;
  const improved = policies.map((policy, member) => ({
    ...policy,
    config: members[member].config.ppo,
    advantages: standardizedAdvantages(advantages[member], policy.occupancy),
  }));
  return exactPpoUpdate(learner.agent, improved, { states: learner.states, remaining, task });
}
