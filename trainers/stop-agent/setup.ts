import * as tf from '@tensorflow/tfjs-core';
import type { StateTable } from '../../envs/state-table.ts';
import { initialState, type StopEnvOptions, type StopEnvState } from '../../envs/stop-env.ts';
import { type ExpertName, expertNames } from '../../experts/trajectories.ts';
import { InputError } from '../../src/errors.ts';
import { disposeOptimized } from '../../src/tensor/adam.ts';
import { columnMoments, type Moments, scalarMoments, standardized } from '../../src/tensor/normalizer.ts';
import { Random } from '../../src/tensor/random.ts';
import { RowTable } from '../../src/tensor/row-table.ts';
import { cloneBehavior } from '../behavior-cloning.ts';
import {
  createDiscriminator,
  type Discriminator,
  type ExpertStream,
  type GailRowWeights,
  gailRowWeights,
} from '../gail.ts';
import { createPolicyValue, type PolicyValue } from '../ppo.ts';
import type { StopAgentConfig } from './config.ts';
import { demonstrationPairs, type TableDemonstration } from './demonstration-pairs.ts';
import { checkPopulation } from './population-options.ts';
import { initialRunningReturn, type RunningReturn } from './running-return.ts';

export interface StopAgentData {
  readonly table: StateTable;
  /** Threads of the table that the agent roams. */
  readonly environment: Int32Array;
  readonly demonstrations: readonly TableDemonstration[];
  /** The demonstration threads as the task return sees them. */
  readonly labelled: ReadonlyMap<number, LabelledThread>;
}

export interface LabelledThread {
  /** At each step: 1 where the judgement is right, and its probability of the right label. */
  readonly right: Uint8Array;
  readonly probability: Float32Array;
  /** What a decision on this thread counts: its label's share of all labels over that of the threads that have it. */
  readonly weight: number;
}

/** A population in training: everything that changes from one iteration to the next. */
export interface StopAgentTraining {
  readonly data: StopAgentData;
  readonly configs: readonly StopAgentConfig[];
  readonly environment: StopEnvOptions;
  readonly experts: readonly ExpertName[];
  readonly rowWeights: GailRowWeights;
  readonly agent: PolicyValue;
  readonly discriminator: Discriminator;
  readonly moments: Moments;
  states: RowTable;
  /** Iterations done. */
  iteration: number;
  readonly members: readonly StopAgentMember[];
}

export interface StopAgentMember {
  random: Random;
  readonly environmentState: StopEnvState;
  readonly runningReturn: RunningReturn;
  /** One for each expert that has demonstrations. */
  readonly streams: readonly ExpertStream[];
}

/** @throws InputError when there is nothing to imitate, no thread to roam, or the sizes do not fit together. */
export function createStopAgentTraining(
  data: StopAgentData,
  members: readonly { seed: number; config: StopAgentConfig }[],
): StopAgentTraining {
  const configs = members.map((member) => member.config);
  const [config] = configs;
  checkPopulation(configs);
  for (const own of configs) checkSizes(data, own);
  const randoms = members.map(({ seed }) => Random.seeded({ seed, purpose: 'stop-agent training' }));
  const weightRandoms = members.map(({ seed }) => Random.seeded({ seed, purpose: 'stop-agent weights' }));
  const inputs = data.table.columns;
  const agent = createPolicyValue({ inputs, actions: 2, hidden: config.ppo.hidden, randoms: weightRandoms });
  preferContinuing(agent, configs);
  const discriminator = createDiscriminator({ inputs, hidden: config.gail.hidden, randoms: weightRandoms });
  const moments = config.normalizer === 'per-feature' ? columnMoments(data.table) : scalarMoments();
  const states = new RowTable(standardized(data.table, moments));
  const pairs = expertNames
    .map((expert) => ({
      expert,
      pairs: demonstrationPairs(
        data.table,
        data.demonstrations.filter((demonstration) => demonstration.expert === expert),
        config,
      ),
    }))
    .filter(({ pairs }) => pairs.rows.length > 0);
  if (config.initialization === 'behavior-cloning') {
    const weighted = pairs.filter(({ expert }) => expert !== 'misleading');
    cloneBehavior(
      agent,
      {
        rows: Int32Array.from(weighted.flatMap(({ pairs }) => [...pairs.rows])),
        actions: Uint8Array.from(weighted.flatMap(({ pairs }) => [...pairs.actions])),
        weights: Float32Array.from(
          weighted.flatMap(({ expert, pairs }) =>
            Array<number>(pairs.rows.length).fill(expert === 'conservative' ? config.gail.alpha : config.gail.beta),
          ),
        ),
      },
      { observations: states, config: config.behaviorCloning, randoms: weightRandoms },
    );
  }
  const experts = pairs.map(({ expert }) => expert);
  return {
    data,
    configs,
    environment: {
      table: data.table,
      threads: data.environment,
      episodeEnd: config.episodeEnd,
      lastPost: config.lastPost,
    },
    experts,
    rowWeights: gailRowWeights(
      configs.map((config) => config.gail),
      experts,
    ),
    agent,
    discriminator,
    moments,
    states,
    iteration: 0,
    members: randoms.map((random) => ({
      random,
      environmentState: initialState(),
      runningReturn: initialRunningReturn(),
      streams: pairs.map(({ pairs }) => ({ pairs, order: new Int32Array(0), position: 0 })),
    })),
  };
}

/** Sets the stop logit's bias so that the untrained policy stops with the probability asked for. */
function preferContinuing(agent: PolicyValue, configs: readonly StopAgentConfig[]): void {
  const { b3 } = agent.parameters;
  const stopLogits = configs.flatMap(({ initialStopProbability: p }) => [0, Math.log(p / (1 - p)), 0]);
  agent.parameters.b3 = tf.tensor3d(stopLogits, b3.shape);
  b3.dispose();
}

export function disposeStopAgentTraining(training: StopAgentTraining): void {
  disposeOptimized(training.agent);
  disposeOptimized(training.discriminator);
  training.states.dispose();
  for (const weights of Object.values(training.rowWeights)) weights?.dispose();
}

function checkSizes(data: StopAgentData, config: StopAgentConfig): void {
  if (config.imitationReward === 0 && config.taskReward === 0)
    throw new InputError('imitationReward and taskReward are both 0, so there is nothing to learn; raise one of them');
  if (config.taskReward > 0 && data.labelled.size === 0)
    throw new InputError(
      `taskReward is ${config.taskReward}, but no demonstration thread has ${config.minPosts} posts; lower minPosts or give more threads`,
    );
  if (config.imitationReward === 0 && config.normalizer === 'scalar-running')
    throw new InputError(
      'normalizer: scalar-running learns from rollouts, and imitationReward: 0 leaves them out; use normalizer: per-feature',
    );
  if (config.imitationReward > 0 && data.environment.length === 0)
    throw new InputError(
      `no thread is left for the environment: none of its threads has ${config.minPosts} posts; lower minPosts or give more threads`,
    );
  const hasGuidance = data.demonstrations.some(({ expert }) => expert !== 'misleading');
  if (config.initialization === 'behavior-cloning' && !hasGuidance)
    throw new InputError(
      `there is nothing to copy: ${data.demonstrations.length} demonstrations, none of them conservative or early-action; give more demonstration threads or set initialization to random`,
    );
  if (config.imitationReward > 0 && !hasGuidance)
    throw new InputError(
      `there is nothing to imitate: ${data.demonstrations.length} demonstrations, none of them conservative or early-action. The detector is never right on the demonstration threads; give more of them or another detector`,
    );
  if (config.ppo.stepsPerIteration < config.gail.batchSize)
    throw new InputError(
      `ppo.stepsPerIteration (${config.ppo.stepsPerIteration}) must be at least gail.batchSize (${config.gail.batchSize}), or no minibatch of the discriminator can be filled`,
    );
  if (config.ppo.stepsPerIteration < config.ppo.minibatches)
    throw new InputError(
      `ppo.stepsPerIteration (${config.ppo.stepsPerIteration}) must be at least ppo.minibatches (${config.ppo.minibatches})`,
    );
}

/** To be called when the moments have changed. */
export function refreshStates(training: StopAgentTraining): void {
  training.states.dispose();
  training.states = new RowTable(standardized(training.data.table, training.moments));
}
