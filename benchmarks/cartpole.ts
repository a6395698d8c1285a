/*
 * Sanity against the field: the PPO of trainers/ on CartPole-v1, where tuned implementations reach the solved mark, a
 * mean return of 475, within 100,000 steps. The seeds train as batched runs. Usage:
 *
 *   node --import tsx benchmarks/cartpole.ts [--seeds 1,2,3,4,5] [--steps 100000] [--backend auto|wasm|cpu|tensorflow]
 *
 * Exits 1 when fewer than four fifths of the seeds reach the mark in 100 greedy episodes after training.
 *
 * Settings: those that RL Baselines3 Zoo tuned for this task (8 environments × 32 steps, γ 0.98, λ 0.8, clip 0.2, no
 * entropy bonus, learning rate 1e-3 falling to 0), with two changes. This PPO always clips the change of a value to
 * `clip`, so rewards are scaled by 1 − γ: values then lie in 0 … 1, and the clip fits them. And 10 epochs of 4
 * minibatches take the place of 20 of one, chosen on seeds 11 to 15.
 */
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { markdownTable } from 'markdown-table';
import { backendSchema, selectBackend } from '../src/tensor/backend.ts';
import { Random } from '../src/tensor/random.ts';
import { RowTables } from '../src/tensor/row-tables.ts';
import { generalizedAdvantages } from '../trainers/gae.ts';
import {
  createPolicyValue,
  disposePolicyValue,
  type PolicyValue,
  policyValueForward,
} from '../trainers/policy-value.ts';
import { ppoSchema, ppoUpdate } from '../trainers/ppo.ts';
import { type CartPoleState, hasFailed, maxSteps, resetCartPole, stepCartPole } from './cartpole-env.ts';

const solvedReturn = 475;
const evaluationEpisodes = 100;
const inputs = 4;
const environments = 8;
const rolloutLength = 32;
const stepsPerIteration = environments * rolloutLength;
const config = ppoSchema.parse({
  stepsPerIteration,
  epochs: 10,
  minibatches: 4,
  clip: 0.2,
  entropyCoefficient: 0,
  learningRate: 1e-3,
  discount: 0.98,
  gaeLambda: 0.8,
});
const rewardPerStep = 1 - config.discount;

const { values: options } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3,4,5' },
    steps: { type: 'string', default: '100000' },
    backend: { type: 'string', default: 'auto' },
  },
});
const seeds = options.seeds.split(',').map(Number);
const iterations = Math.floor(Number(options.steps) / stepsPerIteration);
const backend = await selectBackend(backendSchema.parse(options.backend));
console.log(`backend ${backend.name} (${backend.device}), ${iterations * stepsPerIteration} steps a seed`);

interface Pole {
  state: CartPoleState;
  steps: number;
}

/** One seed's poles, and the returns of the episodes they finished, with the step each ended at. */
interface Member {
  readonly random: Random;
  readonly poles: Pole[];
  readonly finished: { readonly episodeReturn: number; readonly atStep: number }[];
}

const startedMs = performance.now();
const members = seeds.map((seed): Member => {
  const random = Random.seeded({ seed, purpose: 'cartpole training' });
  return { random, poles: Array.from({ length: environments }, () => newPole(random)), finished: [] };
});
const agent = createPolicyValue({
  inputs,
  actions: 2,
  hidden: 64,
  hasCritic: true,
  randoms: seeds.map((seed) => Random.seeded({ seed, purpose: 'cartpole weights' })),
});
for (let iteration = 0; iteration < iterations; iteration++) {
  const collected = collect(agent, iteration);
  const own = <T extends Float32Array | Uint8Array>(values: T, member: number, width = 1) =>
    values.subarray(member * stepsPerIteration * width, (member + 1) * stepsPerIteration * width) as T;
  const states = new RowTables(
    members.map((_, member) => ({ data: own(collected.observations, member, inputs), columns: inputs })),
  );
  const steps = withAdvantages(collected);
  await ppoUpdate(
    agent,
    members.map(({ random }, member) => ({
      config,
      random,
      steps: {
        rows: Int32Array.from({ length: stepsPerIteration }, (_, row) => row),
        actions: own(steps.actions, member),
        chosen: new Uint8Array(stepsPerIteration).fill(1),
        logProbabilities: own(steps.logProbabilities, member),
        values: own(steps.values, member),
        advantages: own(steps.advantages, member),
        returns: own(steps.returns, member),
      },
    })),
    { states, task: null, remaining: 1 - iteration / iterations },
  );
  states.dispose();
}
const trainedSeconds = (performance.now() - startedMs) / 1000;
const evaluated = evaluate(agent);
disposePolicyValue(agent);
if (tf.memory().numTensors !== 0) throw new Error(`${tf.memory().numTensors} tensors were left behind`);

const passes = evaluated.map((meanReturn) => meanReturn >= solvedReturn);
console.log(
  markdownTable([
    ['seed', 'last 100 training episodes', 'first at 475 (step)', '100 greedy episodes', 'passes'],
    ...members.map(({ finished }, member) => [
      String(seeds[member]),
      meanReturnOf(finished.slice(-evaluationEpisodes)).toFixed(1),
      String(firstSolvedStep(finished) ?? 'never'),
      evaluated[member].toFixed(1),
      passes[member] ? 'yes' : 'no',
    ]),
  ]),
);
const passed = passes.filter(Boolean).length;
console.log(`${passed} of ${seeds.length} seeds pass; trained in ${trainedSeconds.toFixed(0)} s`);
process.exitCode = passed >= Math.ceil(0.8 * seeds.length) ? 0 : 1;

function newPole(random: Random): Pole {
  return { state: resetCartPole(() => random.uniform()), steps: 0 };
}

/** Log-probability of a push to the right and value of each state, [members, rows]; `data` is what the network saw. */
function policyOf(agent: PolicyValue, states: readonly (readonly CartPoleState[])[]) {
  const rows = states[0].length;
  const data = Float32Array.from(states.flat(2));
  const [right, value] = tf.tidy(() => {
    const { logProbabilities, values } = policyValueForward(
      agent.parameters,
      tf.tensor3d(data, [states.length, rows, inputs]),
    );
    return [tf.slice(logProbabilities, [0, 0, 1], [states.length, rows, 1]), values];
  });
  const result = { logRight: right.dataSync() as Float32Array, values: value.dataSync() as Float32Array, data };
  tf.dispose([right, value]);
  return result;
}

/**
 * One rollout. A member's steps lie one environment after the other, [members, environments, steps]. A cut episode did
 * not fail: the value of the state after it is added to its last reward.
 */
function collect(agent: PolicyValue, iteration: number) {
  const size = seeds.length * stepsPerIteration;
  const observations = new Float32Array(size * inputs);
  const actions = new Uint8Array(size);
  const logProbabilities = new Float32Array(size);
  const values = new Float32Array(size);
  const rewards = new Float32Array(size).fill(rewardPerStep);
  const ends = new Uint8Array(size);
  const states = () => members.map(({ poles }) => poles.map(({ state }) => state));
  for (let step = 0; step < rolloutLength; step++) {
    const policy = policyOf(agent, states());
    const cut: { readonly at: number; readonly state: CartPoleState }[] = [];
    for (const [index, member] of members.entries())
      for (const [environment, pole] of member.poles.entries()) {
        const row = index * environments + environment;
        const at = row * rolloutLength + step;
        const logRight = policy.logRight[row];
        const action = member.random.uniform() < Math.exp(logRight) ? 1 : 0;
        observations.set(policy.data.subarray(row * inputs, (row + 1) * inputs), at * inputs);
        actions[at] = action;
        logProbabilities[at] = action === 1 ? logRight : Math.log1p(-Math.exp(logRight));
        values[at] = policy.values[row];
        pole.state = stepCartPole(pole.state, action);
        pole.steps++;
        const failed = hasFailed(pole.state);
        if (!failed && pole.steps < maxSteps) continue;
        ends[at] = 1;
        if (!failed) cut.push({ at, state: pole.state });
        const atStep = iteration * stepsPerIteration + (step + 1) * environments;
        member.finished.push({ episodeReturn: pole.steps, atStep });
        member.poles[environment] = newPole(member.random);
      }
    for (const { at, state } of cut) {
      const member = Math.floor(at / stepsPerIteration);
      const { values } = policyOf(
        agent,
        seeds.map(() => [state]),
      );
      rewards[at] += config.discount * values[member];
    }
  }
  const bootstrapValues = policyOf(agent, states()).values;
  return { observations, actions, logProbabilities, values, rewards, ends, bootstrapValues };
}

function withAdvantages(collected: ReturnType<typeof collect>) {
  const { actions, logProbabilities, values, rewards, ends, bootstrapValues } = collected;
  const advantages = new Float32Array(values.length);
  const returns = new Float32Array(values.length);
  for (const [environment, bootstrapValue] of bootstrapValues.entries()) {
    const range = [environment * rolloutLength, (environment + 1) * rolloutLength] as const;
    const estimate = generalizedAdvantages({
      rewards: rewards.subarray(...range),
      values: values.subarray(...range),
      ends: ends.subarray(...range),
      bootstrapValue,
      discount: config.discount,
      lambda: config.gaeLambda,
    });
    advantages.set(estimate.advantages, range[0]);
    returns.set(estimate.returns, range[0]);
  }
  return { actions, logProbabilities, values, advantages, returns };
}

/** Mean return of each member's greedy policy over fresh episodes. */
function evaluate(agent: PolicyValue): number[] {
  const poles = seeds.map((seed) => {
    const random = Random.seeded({ seed, purpose: 'cartpole evaluation' });
    return Array.from({ length: evaluationEpisodes }, () => newPole(random));
  });
  for (let step = 0; step < maxSteps; step++) {
    const { logRight } = policyOf(
      agent,
      poles.map((own) => own.map(({ state }) => state)),
    );
    for (const [member, own] of poles.entries())
      for (const [episode, pole] of own.entries()) {
        if (hasFailed(pole.state)) continue;
        pole.state = stepCartPole(pole.state, logRight[member * evaluationEpisodes + episode] > Math.log(0.5) ? 1 : 0);
        pole.steps++;
      }
  }
  return poles.map((own) => own.reduce((sum, { steps }) => sum + steps, 0) / evaluationEpisodes);
}

function meanReturnOf(episodes: Member['finished']): number {
  return episodes.reduce((sum, { episodeReturn }) => sum + episodeReturn, 0) / Math.max(1, episodes.length);
}

/** Step at which the mean over 100 training episodes first reached the mark. */
function firstSolvedStep(finished: Member['finished']): number | null {
  for (let last = evaluationEpisodes; last <= finished.length; last++)
    if (meanReturnOf(finished.slice(last - evaluationEpisodes, last)) >= solvedReturn) return finished[last - 1].atStep;
  return null;
}
