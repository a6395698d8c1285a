import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { adamUpdate, type Tensors } from '../src/tensor/adam.ts';
import type { MlpName } from '../src/tensor/mlp.ts';
import { columnOf, perMember } from '../src/tensor/population-ops.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTables } from '../src/tensor/row-tables.ts';
import { type PolicyValue, policyValueBackward, policyValueForward } from './policy-value.ts';

/*
 * PPO-clip (Schulman et al. 2017) for discrete actions, with the details of the OpenAI Baselines implementation that
 * EARD's code follows: orthogonal initialisation, clipped value loss, standardised advantages, global norm clipping.
 *
 *   symbol    paper (EARD Eq. 5, 6)               here
 *   ε         clips the ratio                     clips ratio and value alike, as the authors' code does
 *   batch 4   "batch size 4" for policy, value    four minibatches an epoch, as the authors' code does
 *
 * The paper's Table 3 gives 200 steps an iteration, 4 epochs, ε = 0.1, entropy 0.01, γ = 0.99, λ = 0.97 and 3e-4 for the value
 * network. From the authors' code: 3e-4 for the policy, too, value 0.5, gradient norm 0.5, Adam's ε 1e-5 and linear decay. Two
 * defaults are neither's: the advantages are standardised in each minibatch (the code: over all steps of the iteration), and
 * the value head starts with gain 1 (the code: √2); the preset `published` has theirs.
 *
 * `ppoLoss` is the specification; `ppoGradients` is its gradient written out, and the tests hold one to the other. Every
 * tensor is [members, rows, columns]: the leading axis is the population, and nothing here mixes its members.
 */

export const ppoSchema = z.strictObject({
  stepsPerIteration: z.int().min(1).default(200).describe('environment steps collected before each update'),
  epochs: z.int().min(1).default(4).describe('passes over the collected steps'),
  minibatches: z.int().min(1).default(4).describe('minibatches an epoch'),
  clip: z
    .number()
    .positive()
    .default(0.1)
    .describe('range of the probability ratio and of the value change; the value range depends on the reward scale'),
  entropyCoefficient: z.number().min(0).default(0.01).describe('weight of the entropy bonus'),
  valueCoefficient: z.number().min(0).default(0.5).describe('weight of the value loss'),
  maxGradientNorm: z.number().positive().default(0.5).describe('global norm that the gradient is clipped to'),
  learningRate: z.number().positive().default(3e-4).describe('of Adam'),
  learningRateDecay: z.enum(['linear', 'none']).default('linear').describe('linear: to 0 at the last iteration'),
  discount: z.number().min(0).max(1).default(0.99).describe('γ: what a reward one step later is worth'),
  gaeLambda: z.number().min(0).max(1).default(0.97).describe('λ of generalised advantage estimation'),
  advantages: z
    .enum(['per-minibatch', 'per-iteration'])
    .default('per-minibatch')
    .describe('over which steps advantages are standardised; per-iteration is what the published code does'),
  valueGain: z
    .number()
    .positive()
    .default(1)
    .describe("gain of the value head's initial weights; √2 in the published code"),
});
export type PpoConfig = z.infer<typeof ppoSchema>;

/** Added to the root of Adam's second moment: 1e-5 in OpenAI Baselines and the authors' code, not Adam's own 1e-8. */
export const ADAM_EPSILON = 1e-5;

/** The steps one member collected, [steps] each. */
export interface PpoSteps {
  /** Row of each observation in the member's table. */
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
  /** log π(action) and V when the step was taken. */
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  readonly advantages: Float32Array;
  readonly returns: Float32Array;
}

export interface PpoMember {
  readonly steps: PpoSteps;
  readonly config: PpoConfig;
  readonly random: Random;
}

/** One minibatch as tensors. All but `observations` and `oneHotActions` are [members, rows, 1]. */
export interface PpoMinibatch {
  readonly observations: tf.Tensor3D;
  /** [members, rows, actions]. */
  readonly oneHotActions: tf.Tensor3D;
  readonly oldLogProbabilities: tf.Tensor3D;
  readonly oldValues: tf.Tensor3D;
  /** Standardised. */
  readonly advantages: tf.Tensor3D;
  readonly returns: tf.Tensor3D;
}

/** Coefficients of the loss, each [members, 1, 1]. */
export interface PpoCoefficients {
  readonly clip: tf.Tensor3D;
  readonly entropy: tf.Tensor3D;
  readonly value: tf.Tensor3D;
}

/**
 * Epochs of minibatch updates on one iteration's steps (EARD Algorithm 1, lines 6 and 7).
 * @param options.remaining share of the training that lies ahead, 1 … 0, for the learning rate's decay
 * @param options.alsoDescend a further gradient, taken anew before each update and added to PPO's
 */
export async function ppoUpdate(
  agent: PolicyValue,
  members: readonly PpoMember[],
  options: { states: RowTables; remaining: number; alsoDescend?: (() => Promise<Tensors<MlpName>>) | null },
): Promise<void> {
  const { states, remaining, alsoDescend = null } = options;
  const configs = members.map(({ config }) => config);
  const { epochs, minibatches } = configs[0];
  const steps = members[0].steps.rows.length;
  const rowsPerMinibatch = Math.floor(steps / minibatches);
  const coefficients = {
    clip: perMember(configs.map((config) => config.clip)),
    entropy: perMember(configs.map((config) => config.entropyCoefficient)),
    value: perMember(configs.map((config) => config.valueCoefficient)),
  };
  const adam = {
    learningRates: configs.map((config) => decayedLearningRate(config, remaining)),
    epsilon: ADAM_EPSILON,
    maxGradientNorm: configs.map((config) => config.maxGradientNorm),
  };
  for (let epoch = 0; epoch < epochs; epoch++) {
    const orders = members.map(({ random }) => random.permutation(steps));
    for (let start = 0; start + rowsPerMinibatch <= steps; start += rowsPerMinibatch) {
      const chosen = orders.map((order) => order.subarray(start, start + rowsPerMinibatch));
      const minibatch = takeMinibatch(members, { chosen, states, actions: agent.blockMasks.w3.shape[2] - 1 });
      const gradients = ppoGradients(agent, minibatch, coefficients);
      adamUpdate(agent, alsoDescend === null ? gradients : addedGradients(gradients, await alsoDescend()), adam);
      tf.dispose(Object.values(minibatch));
    }
  }
  tf.dispose(Object.values(coefficients));
}

/** Adam's learning rate when the share `remaining` of the training lies ahead. */
export function decayedLearningRate(
  { learningRate, learningRateDecay }: Pick<PpoConfig, 'learningRate' | 'learningRateDecay'>,
  remaining: number,
): number {
  return learningRate * (learningRateDecay === 'linear' ? remaining : 1);
}

/** The loss of each member, [members, 1, 1]: −L^CLIP + c_v·½ max((V−R)², (V_clipped−R)²) − c_e·H, means over rows. */
export function ppoLoss(
  parameters: Tensors<MlpName>,
  batch: PpoMinibatch,
  { clip, entropy: c_e, value: c_v }: PpoCoefficients,
): tf.Tensor3D {
  return tf.tidy(() => {
    const { logProbabilities, values } = policyValueForward(parameters, batch.observations);
    const logProbability = tf.sum(tf.mul(logProbabilities, batch.oneHotActions), 2, true);
    const ratio = tf.exp(tf.sub(logProbability, batch.oldLogProbabilities));
    const clippedRatio = clampTo(ratio, tf.sub(1, clip), tf.add(1, clip));
    const surrogate = tf.minimum(tf.mul(ratio, batch.advantages), tf.mul(clippedRatio, batch.advantages));

    const clippedChange = clampTo(tf.sub(values, batch.oldValues), tf.neg(clip), clip);
    const clippedValues = tf.add(batch.oldValues, clippedChange);
    const valueError = tf.squaredDifference(values, batch.returns);
    const valueLoss = tf.mul(0.5, tf.maximum(valueError, tf.squaredDifference(clippedValues, batch.returns)));

    const entropy = tf.neg(tf.sum(tf.mul(tf.exp(logProbabilities), logProbabilities), 2, true));

    const loss = tf.sub(tf.mul(valueLoss, c_v), tf.add(surrogate, tf.mul(entropy, c_e)));
    return tf.mean(loss, 1, true) as tf.Tensor3D;
  });
}

/** The gradient of `ppoLoss` with respect to the parameters. */
export function ppoGradients(
  agent: Pick<PolicyValue, 'parameters' | 'blockMasks'>,
  batch: PpoMinibatch,
  { clip, entropy: c_e, value: c_v }: PpoCoefficients,
): Tensors<MlpName> {
  return tf.tidy(() => {
    const rows = batch.observations.shape[1];
    const { activations, logProbabilities, values } = policyValueForward(agent.parameters, batch.observations);
    const probabilities = tf.exp(logProbabilities);

    // Surrogate: the ratio r has gradient −A·r where the unclipped branch is the smaller, else 0.
    const logProbability = tf.sum(tf.mul(logProbabilities, batch.oneHotActions), 2, true);
    const ratio = tf.exp(tf.sub(logProbability, batch.oldLogProbabilities));
    const unclipped = tf.mul(ratio, batch.advantages);
    const clipped = tf.mul(clampTo(ratio, tf.sub(1, clip), tf.add(1, clip)), batch.advantages);
    const ratioActive = tf.cast(tf.lessEqual(unclipped, clipped), 'float32');
    const perLogProbability = tf.neg(tf.mul(unclipped, ratioActive));
    const surrogateGradient = tf.mul(tf.sub(batch.oneHotActions, probabilities), perLogProbability);

    // Entropy: dH/dlogit = −p (log p + H); the loss holds −c_e·H.
    const entropy = tf.neg(tf.sum(tf.mul(probabilities, logProbabilities), 2, true));
    const entropyGradient = tf.mul(tf.mul(probabilities, tf.add(logProbabilities, entropy)), c_e);

    // Value: V − R where the unclipped error is the larger, or where the clip is not active; else 0.
    const change = tf.sub(values, batch.oldValues);
    const clippedValues = tf.add(batch.oldValues, clampTo(change, tf.neg(clip), clip));
    const error = tf.sub(values, batch.returns);
    const unclippedLarger = tf.greaterEqual(tf.square(error), tf.squaredDifference(clippedValues, batch.returns));
    const inside = tf.less(tf.abs(change), clip);
    const valueActive = tf.cast(tf.logicalOr(unclippedLarger, inside), 'float32');
    const valueGradient = tf.mul(tf.mul(error, valueActive), c_v);

    const outputGradient = tf.div(
      tf.concat([tf.add(surrogateGradient, entropyGradient), valueGradient], 2),
      rows,
    ) as tf.Tensor3D;
    return policyValueBackward(agent, { observations: batch.observations, activations, outputGradient });
  });
}

export function clampTo(x: tf.Tensor, low: tf.Tensor, high: tf.Tensor): tf.Tensor {
  return tf.maximum(low, tf.minimum(high, x));
}

/** The sum. Takes ownership of both. */
export function addedGradients(one: Tensors<MlpName>, other: Tensors<MlpName>): Tensors<MlpName> {
  const sum = tf.tidy(() => ({
    w1: tf.add(one.w1, other.w1) as tf.Tensor3D,
    b1: tf.add(one.b1, other.b1) as tf.Tensor3D,
    w2: tf.add(one.w2, other.w2) as tf.Tensor3D,
    b2: tf.add(one.b2, other.b2) as tf.Tensor3D,
    w3: tf.add(one.w3, other.w3) as tf.Tensor3D,
    b3: tf.add(one.b3, other.b3) as tf.Tensor3D,
  }));
  tf.dispose([one, other]);
  return sum;
}

function takeMinibatch(
  members: readonly PpoMember[],
  options: { chosen: readonly Int32Array[]; states: RowTables; actions: number },
): PpoMinibatch {
  const { chosen, states, actions } = options;
  const advantagesOf = ({ steps, config }: PpoMember, places: Int32Array) =>
    config.advantages === 'per-minibatch'
      ? standardized(picked(steps.advantages, places))
      : picked(standardized(steps.advantages), places);
  const rows = chosen[0].length;
  const column = (of: (steps: PpoSteps) => Float32Array) =>
    columnOf(members.map(({ steps }, member) => picked(of(steps), chosen[member])));
  const oneHot = new Float32Array(members.length * rows * actions);
  for (const [member, { steps }] of members.entries())
    for (const [row, step] of chosen[member].entries())
      oneHot[(member * rows + row) * actions + steps.actions[step]] = 1;
  return {
    observations: states.gather(members.map(({ steps }, member) => chosen[member].map((step) => steps.rows[step]))),
    oneHotActions: tf.tensor3d(oneHot, [members.length, rows, actions]),
    oldLogProbabilities: column((steps) => steps.logProbabilities),
    oldValues: column((steps) => steps.values),
    advantages: columnOf(members.map((own, member) => advantagesOf(own, chosen[member]))),
    returns: column((steps) => steps.returns),
  };
}

function picked(values: Float32Array, places: Int32Array): Float32Array {
  return Float32Array.from(places, (place) => values[place]);
}

/** To mean 0 and standard deviation 1. */
function standardized(values: Float32Array): Float32Array {
  let mean = 0;
  for (const value of values) mean += value / values.length;
  let variance = 0;
  for (const value of values) variance += (value - mean) ** 2 / Math.max(1, values.length - 1);
  const scale = 1 / (Math.sqrt(variance) + 1e-8);
  return values.map((value) => (value - mean) * scale);
}
