import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import type { NamedArray } from '../../checkpoints/tensor-file.ts';
import { initialState, type StopEnvOptions, type StopEnvState } from '../../envs/stop-env.ts';
import { type ExpertName, expertNames } from '../../experts/trajectories.ts';
import { disposeOptimized } from '../../src/tensor/adam.ts';
import { Random } from '../../src/tensor/random.ts';
import { createDiscriminator, type Discriminator, type GailRowWeights } from '../discriminator.ts';
import type { LabelledBatch } from '../exact-return.ts';
import { initialRunningReturn, type RunningReturn } from '../gae.ts';
import { type GailMember, gailRowWeights } from '../gail.ts';
import { type MemberState, valuesOf } from '../trainer.ts';
import type { StopAgentConfig } from './config.ts';
import { discriminatorMembers, perDiscriminator } from './discriminators.ts';
import { labelledThreads } from './labelled-threads.ts';
import {
  checkMembers,
  integers,
  momentsArrays,
  networkArrays,
  restoreMoments,
  restoreNetwork,
  sameForAll,
} from './network-state.ts';
import { disposeLearner, pairsOf, refreshStates, type StopLearner } from './setup.ts';
import { type TargetOccupancy, targetOccupancy } from './target-occupancy.ts';

/** A population in training: everything that changes from one iteration to the next. */
export interface Imitation {
  readonly learner: StopLearner;
  readonly members: readonly ImitationMember[];
  /** Those with demonstrations; the members' streams are in this order. */
  readonly experts: readonly ExpertName[];
  /** Those of each member in turn: see discriminators.ts. */
  readonly discriminator: Discriminator;
  readonly rowWeights: GailRowWeights;
  /** What each member's occupancy is held against; null where there is none to reach. */
  readonly targets: readonly (TargetOccupancy | null)[];
  /** The task's own return, which the policy climbs as well; null where no member gives it a weight. */
  task: LabelledBatch | null;
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
  // Those with a discriminator of their own are three in any case: a member then draws the same numbers in any population.
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
        lastPost: config.lastPost,
      },
      environmentState: initialState(),
      runningReturn: initialRunningReturn(),
      experts: present,
      streams: present.map((expert) => {
        const own = pairs[index][expertNames.indexOf(expert)];
        const drawn = expert === 'conservative' ? 'passes' : config.imitation.otherExpertSampling;
        return own.rows.length === 0 ? null : { pairs: own, drawn, order: new Int32Array(0), position: 0 };
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
    // An episode that ends with its stop never sees the states after it, which are most of what the experts show.
    targets: members.map((member) =>
      member.config.imitation.episodeEnd === 'last-post' ? targetOccupancy(member) : null,
    ),
    task: taskOf(learner),
    iteration: 0,
  };
}

/** @throws InputError when a member gives its task a weight and has no labelled thread */
function taskOf({ members, states }: StopLearner): LabelledBatch | null {
  const weights = members.map(({ config }) => config.imitation.taskWeight);
  return weights.some((weight) => weight > 0) ? labelledThreads(members, { states, weights }) : null;
}

/** To be called when the moments have changed. */
export function refreshTraining(training: Imitation): void {
  const { learner, task } = training;
  refreshStates(learner);
  if (task === null) return;
  tf.dispose(task);
  training.task = taskOf(learner);
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

const valuesSchema = z.strictObject({
  iteration: z.int(),
  momentsCount: z.number(),
  updates: z.strictObject({ agent: z.int(), discriminator: z.int() }),
  random: z.array(z.int()),
  environment: z.strictObject({ position: z.int(), step: z.int(), previous: z.int(), stopped: z.boolean() }),
  runningReturn: z.strictObject({
    discountedSum: z.number(),
    mean: z.number(),
    variance: z.number(),
    count: z.number(),
  }),
  /** Position in each expert's stream; null where the member has no such demonstration. */
  streamPositions: z.array(z.int().nullable()),
});
type Values = z.infer<typeof valuesSchema>;

/** What a member's discriminators are called in its checkpoint. */
function discriminatorNames({ members, experts }: Imitation): string[] {
  const { objective } = members[0].config;
  return objective === 'shared' ? ['discriminator'] : experts.map((expert) => `discriminator/${expert}`);
}

/** Weights, moments, normaliser, random streams, environments: everything to go on bit for bit, one state a member. */
export async function imitationStates(training: Imitation): Promise<MemberState[]> {
  const { learner, members, discriminator, experts, iteration } = training;
  const agentArrays = await networkArrays(['agent'], learner.agent);
  const discriminatorArrays = await networkArrays(discriminatorNames(training), discriminator);
  return members.map((member, index) => {
    const { environmentState, streams, runningReturn, random } = member;
    const { moments } = learner.members[index];
    const { order, position, step, previous, stopped } = environmentState;
    const arrays: Record<string, NamedArray> = {
      ...agentArrays[index],
      ...discriminatorArrays[index],
      ...momentsArrays(moments),
      environment: { shape: [order.length], data: order.slice() },
    };
    for (const [set, stream] of streams.entries())
      if (stream !== null)
        arrays[`stream/${experts[set]}`] = { shape: [stream.order.length], data: stream.order.slice() };
    const values: Values = {
      iteration,
      momentsCount: moments.count,
      updates: { agent: learner.agent.updates, discriminator: discriminator.updates },
      random: random.state(),
      environment: { position, step, previous, stopped },
      runningReturn: { ...runningReturn },
      streamPositions: streams.map((stream) => stream?.position ?? null),
    };
    return { arrays, values };
  });
}

export function restoreImitation(training: Imitation, states: readonly MemberState[]): void {
  const { learner, members, discriminator, experts } = training;
  checkMembers(states, members);
  const saved = states.map((state) => ({ arrays: state.arrays, values: valuesOf(state, valuesSchema) }));
  restoreNetwork(saved, {
    names: ['agent'],
    network: learner.agent,
    updates: saved.map(({ values }) => values.updates.agent),
  });
  restoreNetwork(saved, {
    names: discriminatorNames(training),
    network: discriminator,
    updates: saved.map(({ values }) => values.updates.discriminator),
  });
  training.iteration = sameForAll(
    saved.map(({ values }) => values.iteration),
    'iterations',
  );
  for (const [index, member] of members.entries()) {
    const { arrays, values } = saved[index];
    restoreMoments(arrays, learner.members[index], values.momentsCount);
    member.random = Random.fromState(values.random);
    Object.assign(member.environmentState, values.environment);
    member.environmentState.order = integers(arrays, 'environment').slice();
    Object.assign(member.runningReturn, values.runningReturn);
    for (const [set, stream] of member.streams.entries()) {
      if (stream === null) continue;
      stream.order = integers(arrays, `stream/${experts[set]}`).slice();
      stream.position = values.streamPositions[set] ?? 0;
    }
  }
  refreshTraining(training);
}
