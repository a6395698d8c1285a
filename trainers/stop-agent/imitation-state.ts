import * as tf from '@tensorflow/tfjs-core';
import { initialState, type StopEnvOptions, type StopEnvState } from '../../envs/stop-env.ts';
import { type ExpertName, expertNames } from '../../experts/trajectories.ts';
import { disposeOptimized } from '../../src/tensor/adam.ts';
import { Random } from '../../src/tensor/random.ts';
import {
  createDiscriminator,
  type Discriminator,
  type DiscriminatorHealth,
  type GailRowWeights,
} from '../discriminator.ts';
import type { LabelledBatch } from '../exact-policy-gradient.ts';
import { initialRunningReturn, type RunningReturn } from '../gae.ts';
import {
  agentWeight,
  type GailConfig,
  type GailMember,
  gailRowWeights,
  presentExperts,
  rewardsOf,
  signedWeights,
} from '../gail.ts';
import type { StopAgentConfig } from './config.ts';
import { labelledThreads } from './labelled-threads.ts';
import { disposeLearner, pairsOf, type StopLearner } from './setup.ts';

/** A batch in training: everything that changes from one iteration to the next. */
export interface Imitation {
  readonly learner: StopLearner;
  readonly members: readonly ImitationMember[];
  /** Those with demonstrations; the members' streams are in this order. */
  readonly experts: readonly ExpertName[];
  /** Those of each member in turn: see `perDiscriminator`. */
  readonly discriminator: Discriminator;
  readonly rowWeights: GailRowWeights;
  /** The task's own return, which the policy climbs as well; null where no member gives it a weight. */
  readonly task: LabelledBatch | null;
  iteration: number;
}

export interface ImitationMember extends GailMember {
  readonly config: StopAgentConfig['imitation'];
  random: Random;
  readonly environment: StopEnvOptions;
  readonly environmentState: StopEnvState;
  readonly runningReturn: RunningReturn;
}

/** Before the first iteration. */
export function startImitation(learner: StopLearner): Imitation {
  const { members } = learner;
  const pairs = members.map((member) => expertNames.map((expert) => pairsOf(member, expert)));
  // Those with a discriminator of their own are three in any case: a member then draws the same numbers in any batch.
  const isSeparate = members[0].config.imitation.objective === 'separate';
  const present = expertNames.filter((_, set) => isSeparate || pairs.some((own) => own[set].rows.length > 0));
  const imitating = members.map(
    ({ seed, config, problem }, index): ImitationMember => ({
      random: Random.seeded({ seed, purpose: 'stop-agent training' }),
      config: config.imitation,
      environment: {
        table: problem.table,
        threads: problem.environment,
        episodeEnd: config.imitation.episodeEnd,
        afterStop: config.imitation.afterStop,
      },
      environmentState: initialState(),
      runningReturn: initialRunningReturn(),
      experts: present,
      streams: present.map((expert) => {
        const own = pairs[index][expertNames.indexOf(expert)];
        return own.rows.length === 0 ? null : { pairs: own, order: new Int32Array(0), position: 0 };
      }),
    }),
  );
  const discriminator = createDiscriminator({
    inputs: members[0].problem.table.columns,
    hidden: members[0].config.imitation.discriminator.hidden,
    randoms: perDiscriminator(
      imitating,
      members.map(({ weightRandom }) => weightRandom),
    ),
  });
  return {
    learner,
    members: imitating,
    experts: present,
    discriminator,
    rowWeights: gailRowWeights(discriminatorMembers(imitating)),
    task: taskOf(learner),
    iteration: 0,
  };
}

/** @throws InputError when a member gives its task a weight and has no labelled thread */
function taskOf({ members, states }: StopLearner): LabelledBatch | null {
  const weights = members.map(({ config }) => config.imitation.taskWeight);
  return weights.some((weight) => weight > 0) ? labelledThreads(members, { states, weights }) : null;
}

/** Epochs of the discriminator in the iteration to come. */
export function discriminatorEpochs({ members, iteration }: Imitation): number {
  const { epochs, warmupEpochs, warmupIterations } = members[0].config.discriminator;
  return iteration < warmupIterations ? warmupEpochs : epochs;
}

export function disposeImitation({ learner, discriminator, rowWeights, task }: Imitation): void {
  if (task !== null) tf.dispose(task);
  disposeLearner(learner);
  disposeOptimized(discriminator);
  tf.dispose([rowWeights.labelsExpertIsOne, rowWeights.weights, rowWeights.penalties ?? []]);
}

/*
 * A member has one discriminator of all experts (EARD, Eq. 3) or one of each (Eq. 1 and 2). All of a batch stand in one list,
 * member after member, as many of each: what follows spreads what a member has over its discriminators and gathers what they say.
 */

/** What each discriminator of a member tells from the agent: indices of its experts. */
function discriminatorTasks(config: Pick<GailConfig, 'objective'>, experts: readonly ExpertName[]): number[][] {
  const all = [...experts.keys()];
  return config.objective === 'shared' ? [all] : all.map((expert) => [expert]);
}

/** Each member's discriminators in turn. Their streams and random numbers are the member's own. */
export function discriminatorMembers(members: readonly GailMember[]): GailMember[] {
  return members.flatMap(({ config, random, experts, streams }) =>
    discriminatorTasks(config, experts).map((told) => ({
      config,
      random,
      experts: told.map((set) => experts[set]),
      streams: told.map((set) => streams[set]),
    })),
  );
}

/** What each member has, once for each of its discriminators. */
export function perDiscriminator<T>(members: readonly GailMember[], values: readonly T[]): T[] {
  return members.flatMap(({ config, experts }, member) =>
    discriminatorTasks(config, experts).map(() => values[member]),
  );
}

/** What the discriminators of each member have, [members][discriminators]. */
export function byMember<T>(members: readonly GailMember[], values: readonly T[]): T[][] {
  const each = values.length / members.length;
  return members.map((_, member) => values.slice(member * each, (member + 1) * each));
}

/** The parts of one member's reward, [steps] each, from the logits of its discriminators. */
export interface MemberRewards {
  /** The logit, or Σ w logit over the experts. */
  readonly logits: Float32Array;
  /** r, or Σ w r, with w = α, β and −γ over the agent's weight. */
  readonly rewards: Float32Array;
}

export function memberRewards(member: GailMember, logits: readonly Float32Array[]): MemberRewards {
  const { config, experts } = member;
  if (config.objective === 'shared') return { logits: logits[0], rewards: rewardsOf(logits[0], config.reward) };
  const present = presentExperts(member);
  const signed = signedWeights(config, present);
  const ofAgent = agentWeight(config, present);
  const weights = experts.map((expert) => signed[expert] / ofAgent);
  const summed = (values: readonly Float32Array[]) =>
    values[0].map((_, step) => weights.reduce((sum, weight, set) => sum + weight * values[set][step], 0));
  return { logits: summed(logits), rewards: summed(logits.map((own) => rewardsOf(own, config.reward))) };
}

/** One member's discriminators as one: the mean of what they say of the agent, the sum of the penalties. */
export function memberHealth(own: readonly DiscriminatorHealth[]): DiscriminatorHealth {
  // A discriminator of an expert that only other members have learns nothing.
  const used = own.filter(({ saysExpert }) => saysExpert.some((share) => share !== null));
  const penalties = used.flatMap(({ penalty }) => penalty ?? []);
  return {
    agent: used.reduce((sum, { agent }) => sum + agent, 0) / used.length,
    saysExpert: own.flatMap(({ saysExpert }) => saysExpert),
    penalty: penalties.length === 0 ? null : penalties.reduce((sum, penalty) => sum + penalty, 0),
  };
}
