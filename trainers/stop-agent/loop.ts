import { setImmediate } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs-core';
import { STOP } from '../../envs/state-table.ts';
import { lookAhead, type Rollout, rollOut } from '../../envs/stop-env.ts';
import { updateScalarMoments } from '../../src/tensor/normalizer.ts';
import { taskUpdate } from '../exact-return.ts';
import { generalizedAdvantages } from '../gae.ts';
import { discriminatorForward, updateDiscriminator } from '../gail.ts';
import { logComplement } from '../log-complement.ts';
import { blockMasks, type PpoBatch, policyValueForward, ppoUpdate } from '../ppo.ts';
import { ppoDiagnostics } from '../ppo-diagnostics.ts';
import type { StopAgentConfig } from './config.ts';
import { scaleRewards } from './running-return.ts';
import { type LabelledThread, refreshStates, type StopAgentTraining } from './setup.ts';

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

/** The published code's normaliser learns so long. */
const scalarMomentsIterations = 11;

export type StopAgentMetrics = Record<string, number>;

export interface StopAgentHooks {
  /** After each iteration: the metrics of each member. */
  readonly onIteration?: (training: StopAgentTraining, metrics: readonly StopAgentMetrics[]) => void | Promise<void>;
  /** At the beginning of each part of an iteration: for benchmarks, which own the clock. */
  readonly onPhase?: (name: StopAgentPhase) => void;
  readonly signal?: AbortSignal;
}

export type StopAgentPhase = 'rollout' | 'discriminator' | 'rewards' | 'policy' | 'metrics' | 'task return' | 'logging';

/** Trains until `iterations` are done or the signal aborts, whichever comes first (EARD Algorithm 1). */
export async function trainStopAgent(training: StopAgentTraining, hooks: StopAgentHooks = {}): Promise<void> {
  const { iterations } = training.configs[0];
  while (training.iteration < iterations && !hooks.signal?.aborted) {
    const remaining = 1 - training.iteration / iterations;
    const imitation = imitationIsOn(training) ? imitate(training, remaining, hooks) : null;
    if (taskIsOn(training)) hooks.onPhase?.('task return');
    const taskReturns = taskIsOn(training) ? climbTask(training, remaining) : null;
    hooks.onPhase?.('logging');
    training.iteration++;
    await hooks.onIteration?.(
      training,
      training.members.map((_, member) => ({
        ...imitation?.[member],
        ...(taskReturns && { 'task/expected_return': taskReturns[member] }),
      })),
    );
    // Lets signals and the progress bar through.
    await setImmediate();
  }
}

/** Algorithm 1, one round: rollout, discriminator, rewards, advantages, policy and value; the members' metrics. */
function imitate(training: StopAgentTraining, remaining: number, { onPhase }: StopAgentHooks): StopAgentMetrics[] {
  onPhase?.('rollout');
  const collected = withCurrentMoments(training, collect(training));
  onPhase?.('discriminator');
  const accuracies = discriminate(training, collected);
  onPhase?.('rewards');
  const rewards = score(training, collected);
  const batch = withAdvantages(training, collected, rewards);
  onPhase?.('policy');
  ppoUpdate(training.agent, batch, {
    observations: training.states,
    configs: training.configs.map((config) => config.ppo),
    randoms: training.members.map((member) => member.random),
    remaining,
  });
  onPhase?.('metrics');
  return measure(training, { collected, accuracies, rewards, batch });
}

/** The members' expected returns on the labelled threads, before the updates. */
function climbTask(training: StopAgentTraining, remaining: number): number[] {
  const { agent, configs, data, states } = training;
  const worths = configs.map((config) =>
    Array.from(data.labelled, ([thread, labelled]) => ({ thread, worth: worthOfStops(labelled, config) })),
  );
  const masks = blockMasks({ hidden: configs[0].ppo.hidden, actions: 2 });
  let returns: number[] = [];
  for (let update = 0; update < configs[0].taskUpdates; update++)
    returns = taskUpdate(agent, worths, {
      table: data.table,
      states,
      weights: configs.map((config) => config.taskReward),
      learningRates: configs.map(({ ppo }) => ppo.learningRate * (ppo.learningRateDecay === 'linear' ? remaining : 1)),
      adamEpsilon: configs[0].ppo.adamEpsilon,
      maxGradientNorm: configs.map((config) => config.ppo.maxGradientNorm),
      blockMasks: masks,
    });
  tf.dispose(masks);
  return returns;
}

/** What stopping at each step of a labelled thread is worth. */
function worthOfStops(thread: LabelledThread, { taskTarget, delayCost }: StopAgentConfig): Float32Array {
  const value = taskTarget === 'right' ? thread.right : thread.probability;
  return Float32Array.from(value, (own, step) => thread.weight * (own - (delayCost * (step + 1)) / value.length));
}

function imitationIsOn(training: StopAgentTraining): boolean {
  return training.configs.some((config) => config.imitationReward > 0);
}

function taskIsOn(training: StopAgentTraining): boolean {
  return training.configs.some((config) => config.taskReward > 0);
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
function withCurrentMoments(training: StopAgentTraining, collected: Collected): Collected {
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

interface Rewards {
  /** The discriminator's logits as they are, and the rewards that the policy gets; [members, steps] row-major. */
  readonly logits: Float32Array;
  readonly total: Float32Array;
}

/** Line 3: logit over the running standard deviation of its discounted sum. */
function score(training: StopAgentTraining, collected: Collected): Rewards {
  const { members, configs } = training;
  const steps = configs[0].ppo.stepsPerIteration;
  const logits = logitsOf(training, collected);
  const total = new Float32Array(members.length * steps);
  for (const [index, { runningReturn }] of members.entries()) {
    const { imitationReward, ppo } = configs[index];
    const { ends } = collected.rollouts[index];
    const own = logits.subarray(index * steps, (index + 1) * steps);
    const scaled = scaleRewards(runningReturn, { rewards: own, ends, discount: ppo.discount });
    total.set(
      scaled.map((reward) => imitationReward * reward),
      index * steps,
    );
  }
  return { logits, total };
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
    accuracies: ReturnType<typeof updateDiscriminator>;
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
      (expert, set) => [`discriminator/says_expert_${expert}`, accuracies[member].experts[set]] as const,
    );
    return {
      'rollout/mean_logit': meanOf(rewards.logits.subarray(...range)),
      'rollout/mean_return': (meanOf(rewards.total.subarray(...range)) * steps) / Math.max(1, episodes),
      ...(decisions.length === 0 ? {} : { 'rollout/mean_stop_post': meanOf(decisions) + 1 }),
      ...diagnostics,
      'discriminator/accuracy_agent': accuracies[member].agent,
      ...Object.fromEntries(experts),
    };
  });
}

function meanOf(values: Float32Array | readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}
