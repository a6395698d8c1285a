import { setImmediate } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { STOP, type StateTable } from '../envs/state-table.ts';
import {
  initialState,
  lookAhead,
  type Rollout,
  rollOut,
  type StopEnvOptions,
  type StopEnvState,
} from '../envs/stop-env.ts';
import { type ExpertName, expertNames, trajectoriesSchema } from '../experts/trajectories.ts';
import { InputError } from '../src/errors.ts';
import { disposeOptimized } from '../src/tensor/adam.ts';
import {
  columnMoments,
  type Moments,
  scalarMoments,
  standardized,
  updateScalarMoments,
} from '../src/tensor/normalizer.ts';
import { Random } from '../src/tensor/random.ts';
import { RowTable } from '../src/tensor/row-table.ts';
import { behaviorCloningSchema, cloneBehavior } from './behavior-cloning.ts';
import { demonstrationPairs, type TableDemonstration } from './demonstration-pairs.ts';
import { generalizedAdvantages } from './gae.ts';
import {
  createDiscriminator,
  type Discriminator,
  discriminatorForward,
  type ExpertStream,
  type GailRowWeights,
  gailRowWeights,
  gailSchema,
  updateDiscriminator,
} from './gail.ts';
import { logComplement } from './log-complement.ts';
import { checkPopulation } from './population-options.ts';
import { createPolicyValue, type PolicyValue, type PpoBatch, policyValueForward, ppoSchema, ppoUpdate } from './ppo.ts';
import { ppoDiagnostics } from './ppo-diagnostics.ts';
import { initialRunningReturn, type RunningReturn, scaleRewards } from './running-return.ts';

/*
 * The stop agent of EARD (§4): PPO against a discriminator of three experts, over the states of a table. Where paper
 * and published code disagree, both are options; the presets `paper` and `published` (stop-agent-presets.ts) set them.
 *
 *   point         paper                            here (preset paper)
 *   reward        −log D                           logit over the running std of its discounted sum (see gail.ts)
 *   order         policy, then discriminator       discriminator, rewards, policy: the published code's order
 *   episode       ends with the stop               runs to the last post in training, as demonstrations do
 *   normaliser    not mentioned                    per feature, exact, from the table of all states
 */

export const stopAgentSchema = z.strictObject({
  iterations: z.int().min(1).default(1000).describe('rounds of rollout and updates; 1,000 × 200 steps in the paper'),
  ppo: ppoSchema.prefault({}),
  gail: gailSchema.prefault({}),
  trajectories: trajectoriesSchema.prefault({}),
  pairing: z
    .enum(['same-step', 'previous-step'])
    .default('same-step')
    .describe('which state a demonstrated action belongs to; previous-step is what the published code does'),
  balance: z
    .enum(['none', 'stop-step'])
    .default('none')
    .describe('stop-step: repeat demonstrations until early and late stops weigh the same'),
  lastPost: z
    .enum(['decision', 'dropped'])
    .default('decision')
    .describe('whether the state after the last post is acted upon; dropped is what the published code does'),
  episodeEnd: z
    .enum(['last-post', 'stop'])
    .default('last-post')
    .describe('stop ends a training episode at the first stop. Rewards of one sign then teach early or late endings'),
  normalizer: z
    .enum(['per-feature', 'scalar-running'])
    .default('per-feature')
    .describe("per-feature: exact, from the table; scalar-running: the published code's, frozen after 11 iterations"),
  minPosts: z.int().min(1).default(3).describe('shorter threads are left out of the environment'),
  maxPosts: z.int().min(1).default(1000).describe('posts of a thread that the environment shows'),
  initialization: z
    .enum(['random', 'behavior-cloning'])
    .default('random')
    .describe('behavior-cloning: the policy starts from a copy of the demonstrations'),
  behaviorCloning: behaviorCloningSchema.prefault({}),
  imitationReward: z.number().min(0).default(1).describe("weight of the discriminator's reward; 0 turns GAIL off"),
  taskReward: z
    .number()
    .min(0)
    .default(0)
    .describe(
      'weight of a reward for the decision on labelled threads, which then join the environment; 0 is the paper',
    ),
  taskTarget: z
    .enum(['right', 'probability'])
    .default('right')
    .describe(
      'what the task reward counts at the decision: whether the detector is right, or its probability of the right label',
    ),
  delayCost: z
    .number()
    .min(0)
    .default(0.5)
    .describe(
      'the task reward falls by this times the share of posts used; labels weigh the same, however many threads have them',
    ),
});
export type StopAgentConfig = z.infer<typeof stopAgentSchema>;

const scalarMomentsIterations = 11;

export interface StopAgentData {
  readonly table: StateTable;
  /** Threads of the table that the agent roams. */
  readonly environment: Int32Array;
  readonly demonstrations: readonly TableDemonstration[];
  /** Labelled threads, for the task reward. */
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

export type StopAgentMetrics = Record<string, number>;

export interface StopAgentHooks {
  /** After each iteration: the metrics of each member. */
  readonly onIteration?: (training: StopAgentTraining, metrics: readonly StopAgentMetrics[]) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/** Trains until `iterations` are done or the signal aborts, whichever comes first (EARD Algorithm 1). */
export async function trainStopAgent(training: StopAgentTraining, hooks: StopAgentHooks = {}): Promise<void> {
  const { iterations } = training.configs[0];
  while (training.iteration < iterations && !hooks.signal?.aborted) {
    const collected = learnMoments(training, collect(training));
    const accuracies = imitationIsOn(training) ? discriminate(training, collected) : null;
    const rewards = score(training, collected);
    const batch = withAdvantages(training, collected, rewards);
    ppoUpdate(training.agent, batch, {
      observations: training.states,
      configs: training.configs.map((config) => config.ppo),
      randoms: training.members.map((member) => member.random),
      remaining: 1 - training.iteration / iterations,
    });
    const metrics = measure(training, { collected, accuracies, rewards, batch });
    training.iteration++;
    await hooks.onIteration?.(training, metrics);
    // Lets signals and the progress bar through.
    await setImmediate();
  }
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
      threads: environmentThreads(data, config),
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

export function disposeStopAgentTraining(training: StopAgentTraining): void {
  disposeOptimized(training.agent);
  disposeOptimized(training.discriminator);
  training.states.dispose();
  for (const weights of Object.values(training.rowWeights)) weights?.dispose();
}

function environmentThreads(data: StopAgentData, config: StopAgentConfig): Int32Array {
  const labelled = config.taskReward > 0 ? [...data.labelled.keys()] : [];
  return Int32Array.from(new Set([...data.environment, ...labelled]));
}

function checkSizes(data: StopAgentData, config: StopAgentConfig): void {
  if (environmentThreads(data, config).length === 0)
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

function imitationIsOn(training: StopAgentTraining): boolean {
  return training.configs.some((config) => config.imitationReward > 0);
}

/** What each member did in one rollout, with the policy's word on the states it visited. */
interface Collected {
  readonly rollouts: readonly Rollout[];
  /** [members, steps] row-major. */
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  /** Value of the state after each member's last step. */
  readonly nextValues: Float32Array;
}

/** Algorithm 1, lines 2 and 4: K steps of each member, all reachable states scored in one pass. */
function collect(training: StopAgentTraining): Collected {
  const { environment, members, configs } = training;
  const steps = configs[0].ppo.stepsPerIteration;
  const reachable = members.map(({ environmentState, random }) =>
    lookAhead(environment, environmentState, { steps, shuffle: (length) => random.permutation(length) }),
  );
  // Members see different numbers of states: pad to the largest with row 0.
  const width = Math.max(...reachable.map((rows) => rows.length));
  const padded = new Int32Array(members.length * width);
  for (const [member, rows] of reachable.entries()) padded.set(rows, member * width);
  const { stopLogProbabilities, values } = evaluateRows(training, padded);

  const rollouts = members.map((member, index) => {
    const place = new Map(Array.from(reachable[index], (row, i) => [row, index * width + i]));
    const at = (row: number) => place.get(row) ?? 0;
    const rollout = rollOut(environment, member.environmentState, {
      steps,
      stopProbability: (row) => Math.exp(stopLogProbabilities[at(row)]),
      uniform: () => member.random.uniform(),
    });
    return { rollout, at };
  });
  const flat = <T extends Float32Array | Int32Array | Uint8Array>(
    array: T,
    of: (entry: (typeof rollouts)[number], step: number) => number,
  ): T => {
    for (const [member, entry] of rollouts.entries())
      for (let step = 0; step < steps; step++) array[member * steps + step] = of(entry, step);
    return array;
  };
  const size = members.length * steps;
  return {
    rollouts: rollouts.map(({ rollout }) => rollout),
    rows: flat(new Int32Array(size), ({ rollout }, step) => rollout.rows[step]),
    actions: flat(new Uint8Array(size), ({ rollout }, step) => rollout.actions[step]),
    logProbabilities: flat(new Float32Array(size), ({ rollout, at }, step) =>
      ofAction(stopLogProbabilities[at(rollout.rows[step])], rollout.actions[step]),
    ),
    values: flat(new Float32Array(size), ({ rollout, at }, step) => values[at(rollout.rows[step])]),
    nextValues: Float32Array.from(rollouts, ({ rollout, at }) => values[at(rollout.nextRow)]),
  };
}

/** log π(action), given log π(stop). */
function ofAction(stopLogProbability: number, action: number): number {
  return action === STOP ? stopLogProbability : logComplement(stopLogProbability);
}

/** log π(stop) and V of table rows, [members, rows] row-major. */
function evaluateRows(training: StopAgentTraining, rows: Int32Array) {
  const members = training.members.length;
  const observations = training.states.gather(rows, members);
  const [stop, value] = tf.tidy(() => {
    const { logProbabilities, values } = policyValueForward(training.agent.parameters, observations);
    return [tf.slice(logProbabilities, [0, 0, 1], [members, rows.length / members, 1]), values];
  });
  const result = { stopLogProbabilities: stop.dataSync() as Float32Array, values: value.dataSync() as Float32Array };
  tf.dispose([observations, stop, value]);
  return result;
}

/** Line 8, before the rewards as in the published code: the discriminator learns to tell these steps from the experts'. */
function discriminate(training: StopAgentTraining, collected: Collected) {
  const { members, configs, discriminator, rowWeights, iteration, states } = training;
  const { epochs, warmupEpochs, warmupIterations } = configs[0].gail;
  return updateDiscriminator(discriminator, collected, {
    states,
    configs: configs.map((config) => config.gail),
    streams: members.map((member) => member.streams),
    rowWeights,
    randoms: members.map((member) => member.random),
    epochs: iteration < warmupIterations ? warmupEpochs : epochs,
  });
}

/**
 * The published code's normaliser: scalar moments of what the agent sees in its first iterations. All updates of the
 * iteration see the states by the new moments, so the policy's word on its steps is asked for again: its probability
 * ratio must start at 1.
 */
function learnMoments(training: StopAgentTraining, collected: Collected): Collected {
  const { table } = training.data;
  if (training.configs[0].normalizer !== 'scalar-running' || training.iteration >= scalarMomentsIterations)
    return collected;
  for (const row of collected.rows)
    updateScalarMoments(training.moments, table.data.subarray(row * table.columns, (row + 1) * table.columns));
  refreshStates(training);
  const { stopLogProbabilities, values } = evaluateRows(training, collected.rows);
  const nextRows = Int32Array.from(collected.rollouts, ({ nextRow }) => nextRow);
  return {
    ...collected,
    logProbabilities: stopLogProbabilities.map((stop, step) => ofAction(stop, collected.actions[step])),
    values,
    nextValues: evaluateRows(training, nextRows).values,
  };
}

/** To be called when the moments have changed. */
export function refreshStates(training: StopAgentTraining): void {
  training.states.dispose();
  training.states = new RowTable(standardized(training.data.table, training.moments));
}

interface Rewards {
  /** The discriminator's logits as they are, and the rewards that the policy gets; [members, steps] row-major. */
  readonly logits: Float32Array;
  readonly total: Float32Array;
}

/** Line 3: logit over the running standard deviation of its discounted sum, plus the task reward where it is on. */
function score(training: StopAgentTraining, collected: Collected): Rewards {
  const { members, configs, data } = training;
  const steps = configs[0].ppo.stepsPerIteration;
  const logits = imitationIsOn(training) ? logitsOf(training, collected) : new Float32Array(members.length * steps);
  const total = new Float32Array(members.length * steps);
  for (const [index, { runningReturn }] of members.entries()) {
    const config = configs[index];
    const rollout = collected.rollouts[index];
    const own = logits.subarray(index * steps, (index + 1) * steps);
    const scaled = scaleRewards(runningReturn, { rewards: own, ends: rollout.ends, discount: config.ppo.discount });
    for (let step = 0; step < steps; step++) {
      const labelled = data.labelled.get(rollout.threads[step]);
      const decides = rollout.decides[step] === 1;
      const task = labelled && decides ? taskRewardAt(labelled, { step: rollout.steps[step], config }) : 0;
      total[index * steps + step] = config.imitationReward * scaled[step] + config.taskReward * task;
    }
  }
  return { logits, total };
}

/** What a decision at `step` of a labelled thread is worth. */
function taskRewardAt(thread: LabelledThread, { step, config }: { step: number; config: StopAgentConfig }): number {
  const value = config.taskTarget === 'right' ? thread.right[step] : thread.probability[step];
  return thread.weight * (value - (config.delayCost * (step + 1)) / thread.right.length);
}

function logitsOf(training: StopAgentTraining, collected: Collected): Float32Array {
  const members = training.members.length;
  const states = training.states.gather(collected.rows, members);
  const actions = tf.tensor3d(Float32Array.from(collected.actions), [members, collected.actions.length / members, 1]);
  const logits = discriminatorForward(training.discriminator.parameters, states, actions);
  const values = logits.dataSync() as Float32Array;
  tf.dispose([states, actions, logits]);
  return values;
}

/** Line 5. */
function withAdvantages(training: StopAgentTraining, collected: Collected, rewards: Rewards): PpoBatch {
  const steps = training.configs[0].ppo.stepsPerIteration;
  const advantages = new Float32Array(collected.rows.length);
  const returns = new Float32Array(collected.rows.length);
  for (const [member, rollout] of collected.rollouts.entries()) {
    const own = (values: Float32Array) => values.subarray(member * steps, (member + 1) * steps);
    const { discount, gaeLambda } = training.configs[member].ppo;
    const estimate = generalizedAdvantages({
      rewards: own(rewards.total),
      values: own(collected.values),
      ends: rollout.ends,
      bootstrapValue: collected.nextValues[member],
      discount,
      lambda: gaeLambda,
    });
    advantages.set(estimate.advantages, member * steps);
    returns.set(estimate.returns, member * steps);
  }
  return { ...collected, advantages, returns };
}

/** The metrics of each member; names are those of the metrics log. */
function measure(
  training: StopAgentTraining,
  iteration: {
    collected: Collected;
    accuracies: ReturnType<typeof updateDiscriminator> | null;
    rewards: Rewards;
    batch: PpoBatch;
  },
): StopAgentMetrics[] {
  const { collected, accuracies, rewards, batch } = iteration;
  const { stopLogProbabilities, values } = evaluateRows(training, collected.rows);
  const steps = training.configs[0].ppo.stepsPerIteration;
  return training.members.map((_, member) => {
    const range = [member * steps, (member + 1) * steps] as const;
    const rollout = collected.rollouts[member];
    const decisions = Array.from(rollout.steps).filter((_, step) => rollout.decides[step] === 1);
    const episodes = rollout.ends.reduce((sum, end) => sum + end, 0);
    const diagnostics = ppoDiagnostics({
      config: training.configs[member].ppo,
      actions: collected.actions.subarray(...range),
      oldLogProbabilities: collected.logProbabilities.subarray(...range),
      oldValues: collected.values.subarray(...range),
      advantages: batch.advantages.subarray(...range),
      returns: batch.returns.subarray(...range),
      stopLogProbabilities: stopLogProbabilities.subarray(...range),
      values: values.subarray(...range),
    });
    const experts = training.experts.map(
      (expert, set) => [`discriminator/says_expert_${expert}`, accuracies?.[member].experts[set] ?? 0] as const,
    );
    return {
      'rollout/mean_logit': meanOf(rewards.logits.subarray(...range)),
      'rollout/mean_return': (meanOf(rewards.total.subarray(...range)) * steps) / Math.max(1, episodes),
      ...(decisions.length === 0 ? {} : { 'rollout/mean_stop_post': meanOf(decisions) + 1 }),
      ...diagnostics,
      ...(accuracies === null
        ? {}
        : { 'discriminator/accuracy_agent': accuracies[member].agent, ...Object.fromEntries(experts) }),
    };
  });
}

function meanOf(values: Float32Array | readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}
