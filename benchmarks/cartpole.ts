/*
 * Sanity against the field: the PPO of trainers/ on CartPole-v1, where tuned implementations reach the solved mark, a
 * mean return of 475, within 100,000 steps. Usage:
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
import { parametersOf } from '../src/tensor/adam.ts';
import { backendSchema, selectBackend } from '../src/tensor/backend.ts';
import { Random } from '../src/tensor/random.ts';
import { RowTable } from '../src/tensor/row-table.ts';
import { ppoSchema } from '../trainers/config.ts';
import { generalizedAdvantages } from '../trainers/gae.ts';
import {
  createPolicyValue,
  disposePolicyValue,
  type PolicyValue,
  policyValueForward,
} from '../trainers/policy-value.ts';
import { ppoUpdate } from '../trainers/ppo.ts';
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

/** An episode that ended, and the step at which it did. */
interface Episode {
  readonly episodeReturn: number;
  readonly atStep: number;
}

const startedMs = performance.now();
const rows: string[][] = [];
let passed = 0;
for (const seed of seeds) {
  const random = Random.seeded({ seed, purpose: 'cartpole training' });
  const poles = Array.from({ length: environments }, () => newPole(random));
  const finished: Episode[] = [];
  const agent = createPolicyValue({
    inputs,
    actions: 2,
    hidden: 64,
    hasCritic: true,
    random: Random.seeded({ seed, purpose: 'cartpole weights' }),
  });
  for (let iteration = 0; iteration < iterations; iteration++) {
    const collected = collect(agent, { random, poles, finished, iteration });
    const states = new RowTable({ data: collected.observations, columns: inputs });
    const steps = {
      ...withAdvantages(collected),
      rows: Int32Array.from({ length: stepsPerIteration }, (_, row) => row),
      chosen: new Uint8Array(stepsPerIteration).fill(1),
    };
    await ppoUpdate(agent, steps, { config, states, random, task: null, remaining: 1 - iteration / iterations });
    states.dispose();
  }
  const evaluated = evaluate(agent, seed);
  disposePolicyValue(agent);
  if (tf.memory().numTensors !== 0) throw new Error(`${tf.memory().numTensors} tensors were left behind`);
  const passes = evaluated >= solvedReturn;
  passed += Number(passes);
  rows.push([
    String(seed),
    meanReturnOf(finished.slice(-evaluationEpisodes)).toFixed(1),
    String(firstSolvedStep(finished) ?? 'never'),
    evaluated.toFixed(1),
    passes ? 'yes' : 'no',
  ]);
}
const head = ['seed', 'last 100 training episodes', 'first at 475 (step)', '100 greedy episodes', 'passes'];
console.log(markdownTable([head, ...rows]));
const took = (performance.now() - startedMs) / 1000;
console.log(`${passed} of ${seeds.length} seeds pass; trained and tested in ${took.toFixed(0)} s`);
process.exitCode = passed >= Math.ceil(0.8 * seeds.length) ? 0 : 1;

function newPole(random: Random): Pole {
  return { state: resetCartPole(() => random.uniform()), steps: 0 };
}

/** Log-probability of a push to the right and value of each state, [rows]; `data` is what the network saw. */
function policyOf(agent: PolicyValue, states: readonly CartPoleState[]) {
  const data = Float32Array.from(states.flat());
  const [right, value] = tf.tidy(() => {
    const observations = tf.tensor2d(data, [states.length, inputs]);
    const { logProbabilities, values } = policyValueForward(parametersOf(agent), observations);
    return [tf.slice(logProbabilities, [0, 1], [states.length, 1]), values];
  });
  const result = { logRight: right.dataSync() as Float32Array, values: value.dataSync() as Float32Array, data };
  tf.dispose([right, value]);
  return result;
}

/**
 * One rollout. Steps lie one environment after the other, [environments, steps]. A cut episode did not fail: the value of the state after
 * it is added to its last reward.
 */
function collect(
  agent: PolicyValue,
  training: { random: Random; poles: Pole[]; finished: Episode[]; iteration: number },
) {
  const { random, poles, finished, iteration } = training;
  const observations = new Float32Array(stepsPerIteration * inputs);
  const actions = new Uint8Array(stepsPerIteration);
  const logProbabilities = new Float32Array(stepsPerIteration);
  const values = new Float32Array(stepsPerIteration);
  const rewards = new Float32Array(stepsPerIteration).fill(rewardPerStep);
  const ends = new Uint8Array(stepsPerIteration);
  const states = () => poles.map(({ state }) => state);
  for (let step = 0; step < rolloutLength; step++) {
    const policy = policyOf(agent, states());
    for (const [environment, pole] of poles.entries()) {
      const at = environment * rolloutLength + step;
      const logRight = policy.logRight[environment];
      const action = random.uniform() < Math.exp(logRight) ? 1 : 0;
      observations.set(policy.data.subarray(environment * inputs, (environment + 1) * inputs), at * inputs);
      actions[at] = action;
      logProbabilities[at] = action === 1 ? logRight : Math.log1p(-Math.exp(logRight));
      values[at] = policy.values[environment];
      pole.state = stepCartPole(pole.state, action);
      pole.steps++;
      const failed = hasFailed(pole.state);
      if (!failed && pole.steps < maxSteps) continue;
      ends[at] = 1;
      if (!failed) rewards[at] += config.discount * policyOf(agent, [pole.state]).values[0];
      finished.push({ episodeReturn: pole.steps, atStep: iteration * stepsPerIteration + (step + 1) * environments });
      poles[environment] = newPole(random);
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

/** Mean return of the greedy policy over fresh episodes. */
function evaluate(agent: PolicyValue, seed: number): number {
  const random = Random.seeded({ seed, purpose: 'cartpole evaluation' });
  const poles = Array.from({ length: evaluationEpisodes }, () => newPole(random));
  for (let step = 0; step < maxSteps; step++) {
    const { logRight } = policyOf(
      agent,
      poles.map(({ state }) => state),
    );
    for (const [episode, pole] of poles.entries()) {
      if (hasFailed(pole.state)) continue;
      pole.state = stepCartPole(pole.state, logRight[episode] > Math.log(0.5) ? 1 : 0);
      pole.steps++;
    }
  }
  return poles.reduce((sum, { steps }) => sum + steps, 0) / evaluationEpisodes;
}

function meanReturnOf(episodes: readonly Episode[]): number {
  return episodes.reduce((sum, { episodeReturn }) => sum + episodeReturn, 0) / Math.max(1, episodes.length);
}

/** Step at which the mean over 100 training episodes first reached the mark. */
function firstSolvedStep(finished: readonly Episode[]): number | null {
  for (let last = evaluationEpisodes; last <= finished.length; last++)
    if (meanReturnOf(finished.slice(last - evaluationEpisodes, last)) >= solvedReturn) return finished[last - 1].atStep;
  return null;
}
