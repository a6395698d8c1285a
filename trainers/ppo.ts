import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { adamUpdate, type Optimized, optimized, type Tensors } from '../src/tensor/adam.ts';
import { orthogonal, stackMembers } from '../src/tensor/initializers.ts';
import { type Activations, type MlpName, upperBackward, upperForward } from '../src/tensor/mlp.ts';
import { matMul, perMember, sumRows, transpose } from '../src/tensor/population-ops.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';

/*
 * PPO-clip (Schulman et al. 2017) for discrete actions, with the details of the OpenAI Baselines implementation that
 * EARD's code follows: orthogonal initialisation, clipped value loss, standardised advantages, global norm clipping.
 *
 *   symbol    paper (EARD Eq. 5, 6)               here
 *   ε         clips the ratio                     clips ratio and value alike, as the authors' code
 *   batch 4   "batch size 4" for policy, value    four minibatches an epoch, which is what the code does
 *
 * Policy and value are separate perceptrons laid side by side in one block-diagonal network, so that they share each
 * product: hidden units 0 … h−1 are the policy's, h … 2h−1 the value's; outputs are the action logits, then the value.
 */

export const ppoSchema = z.strictObject({
  hidden: z.int().min(1).default(64).describe('units in each of the two hidden layers of policy and value'),
  stepsPerIteration: z.int().min(1).default(200).describe('environment steps collected before each update'),
  epochs: z.int().min(1).default(4).describe('passes over the collected steps'),
  minibatches: z.int().min(1).default(4).describe('minibatches an epoch'),
  clip: z.number().positive().default(0.1).describe('range of the probability ratio and of the value change'),
  entropyCoefficient: z.number().min(0).default(0.01).describe('weight of the entropy bonus'),
  valueCoefficient: z.number().min(0).default(0.5).describe('weight of the value loss'),
  maxGradientNorm: z.number().positive().default(0.5).describe('global norm the gradient is clipped to'),
  learningRate: z.number().positive().default(3e-4).describe('of Adam'),
  learningRateDecay: z.enum(['linear', 'none']).default('linear').describe('linear: to 0 at the last iteration'),
  adamEpsilon: z.number().positive().default(1e-5),
  discount: z.number().min(0).max(1).default(0.99),
  gaeLambda: z.number().min(0).max(1).default(0.97).describe('λ of generalised advantage estimation'),
});
export type PpoConfig = z.infer<typeof ppoSchema>;

export type PolicyValue = Optimized<MlpName>;

/** Steps collected by a population; every array is [members, steps] row-major. */
export interface PpoBatch {
  /** Row of each observation in the table. */
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  readonly advantages: Float32Array;
  readonly returns: Float32Array;
}

/** Orthogonal weights: gain √2, 0.01 for the policy's head, 1 for the value's; biases 0. One generator a member. */
export function createPolicyValue(options: {
  inputs: number;
  actions: number;
  hidden: number;
  randoms: readonly Random[];
}): PolicyValue {
  const { inputs, actions, hidden, randoms } = options;
  const gain = Math.SQRT2;
  const draw = (rows: number, columns: number, gain: number, random: Random) => ({
    matrix: orthogonal({ rows, columns, gain, random }),
    columns,
  });
  const layers = randoms.map((random) => ({
    w1: blocks({ rows: inputs, columns: 2 * hidden }, [
      { ...draw(inputs, hidden, gain, random), row: 0, column: 0 },
      { ...draw(inputs, hidden, gain, random), row: 0, column: hidden },
    ]),
    w2: blocks({ rows: 2 * hidden, columns: 2 * hidden }, [
      { ...draw(hidden, hidden, gain, random), row: 0, column: 0 },
      { ...draw(hidden, hidden, gain, random), row: hidden, column: hidden },
    ]),
    w3: blocks({ rows: 2 * hidden, columns: actions + 1 }, [
      { ...draw(hidden, actions, 0.01, random), row: 0, column: 0 },
      { ...draw(hidden, 1, 1, random), row: hidden, column: actions },
    ]),
  }));
  const stack = (name: 'w1' | 'w2' | 'w3', rows: number, columns: number) =>
    stackMembers(
      layers.map((layer) => layer[name]),
      { rows, columns },
    );
  return optimized({
    w1: stack('w1', inputs, 2 * hidden),
    b1: tf.zeros([randoms.length, 1, 2 * hidden]),
    w2: stack('w2', 2 * hidden, 2 * hidden),
    b2: tf.zeros([randoms.length, 1, 2 * hidden]),
    w3: stack('w3', 2 * hidden, actions + 1),
    b3: tf.zeros([randoms.length, 1, actions + 1]),
  });
}

interface Block {
  readonly matrix: Float32Array;
  readonly columns: number;
  readonly row: number;
  readonly column: number;
}

/** A matrix that is zero outside the given blocks. */
function blocks(shape: { rows: number; columns: number }, parts: readonly Block[]): Float32Array {
  const whole = new Float32Array(shape.rows * shape.columns);
  for (const { matrix, columns, row, column } of parts)
    for (let i = 0; i < matrix.length; i++) {
      const target = (row + Math.floor(i / columns)) * shape.columns + column + (i % columns);
      whole[target] = matrix[i];
    }
  return whole;
}

export type BlockMasks = { readonly w2: tf.Tensor3D; readonly w3: tf.Tensor3D };

/** Keeps policy and value apart: 1 inside the blocks of `w2` and `w3`, 0 outside, [1, rows, columns]. */
export function blockMasks({ hidden, actions }: { hidden: number; actions: number }): BlockMasks {
  const ones = (rows: number, columns: number) => ({ matrix: new Float32Array(rows * columns).fill(1), columns });
  const w2 = blocks({ rows: 2 * hidden, columns: 2 * hidden }, [
    { ...ones(hidden, hidden), row: 0, column: 0 },
    { ...ones(hidden, hidden), row: hidden, column: hidden },
  ]);
  const w3 = blocks({ rows: 2 * hidden, columns: actions + 1 }, [
    { ...ones(hidden, actions), row: 0, column: 0 },
    { ...ones(hidden, 1), row: hidden, column: actions },
  ]);
  return {
    w2: tf.tensor3d(w2, [1, 2 * hidden, 2 * hidden]),
    w3: tf.tensor3d(w3, [1, 2 * hidden, actions + 1]),
  };
}

/** Log-probabilities of the actions [members, rows, actions] and state values [members, rows, 1]. */
export function policyValueForward(parameters: Tensors<MlpName>, observations: tf.Tensor3D) {
  const { activations, logProbabilities, values } = tf.tidy(() => {
    const activations = upperForward(parameters, tf.add(matMul(observations, parameters.w1), parameters.b1));
    return { activations, ...heads(activations.output) };
  });
  return { activations, logProbabilities, values };
}

function heads(output: tf.Tensor3D): { logProbabilities: tf.Tensor3D; values: tf.Tensor3D } {
  const [members, rows, outputs] = output.shape;
  const logits = tf.slice(output, [0, 0, 0], [members, rows, outputs - 1]);
  return {
    logProbabilities: tf.logSoftmax(logits) as tf.Tensor3D,
    values: tf.slice(output, [0, 0, outputs - 1], [members, rows, 1]),
  };
}

/** One minibatch on the device. All but `observations` and `oneHotActions` are [members, rows, 1]. */
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

/** Weights of the loss, each [members, 1, 1]. */
export interface PpoLossWeights {
  readonly clip: tf.Tensor3D;
  readonly entropyCoefficient: tf.Tensor3D;
  readonly valueCoefficient: tf.Tensor3D;
}

/** The loss of each member, [members, 1, 1]: −L^CLIP − c_e·H + c_v·½ max((V−R)², (V_clipped−R)²), means over rows. */
export function ppoLoss(parameters: Tensors<MlpName>, batch: PpoMinibatch, weights: PpoLossWeights): tf.Tensor3D {
  return tf.tidy(() => {
    const { logProbabilities, values } = policyValueForward(parameters, batch.observations);
    const logProbability = tf.sum(tf.mul(logProbabilities, batch.oneHotActions), 2, true);
    const ratio = tf.exp(tf.sub(logProbability, batch.oldLogProbabilities));
    const surrogate = tf.minimum(
      tf.mul(ratio, batch.advantages),
      tf.mul(clampTo(ratio, tf.sub(1, weights.clip), tf.add(1, weights.clip)), batch.advantages),
    );
    const entropy = tf.neg(tf.sum(tf.mul(tf.exp(logProbabilities), logProbabilities), 2, true));
    const clippedValues = tf.add(
      batch.oldValues,
      clampTo(tf.sub(values, batch.oldValues), tf.neg(weights.clip), weights.clip),
    );
    const valueLoss = tf.maximum(
      tf.squaredDifference(values, batch.returns),
      tf.squaredDifference(clippedValues, batch.returns),
    );
    return tf.mean(
      tf.sub(
        tf.mul(tf.mul(valueLoss, 0.5), weights.valueCoefficient),
        tf.add(surrogate, tf.mul(entropy, weights.entropyCoefficient)),
      ),
      1,
      true,
    ) as tf.Tensor3D;
  });
}

function clampTo(x: tf.Tensor, low: tf.Tensor, high: tf.Tensor): tf.Tensor {
  return tf.maximum(low, tf.minimum(high, x));
}

/** The gradient of `ppoLoss`, written out. */
export function ppoGradients(
  parameters: Tensors<MlpName>,
  batch: PpoMinibatch,
  weights: PpoLossWeights & { blockMasks: BlockMasks },
): Tensors<MlpName> {
  return tf.tidy(() => {
    const rows = batch.observations.shape[1];
    const { activations, logProbabilities, values } = policyValueForward(parameters, batch.observations);
    const probabilities = tf.exp(logProbabilities);

    // Surrogate: the ratio r has gradient −A·r where the unclipped branch is the smaller, else 0.
    const logProbability = tf.sum(tf.mul(logProbabilities, batch.oneHotActions), 2, true);
    const ratio = tf.exp(tf.sub(logProbability, batch.oldLogProbabilities));
    const unclipped = tf.mul(ratio, batch.advantages);
    const clipped = tf.mul(clampTo(ratio, tf.sub(1, weights.clip), tf.add(1, weights.clip)), batch.advantages);
    const ratioActive = tf.cast(tf.lessEqual(unclipped, clipped), 'float32');
    const perLogProbability = tf.neg(tf.mul(unclipped, ratioActive));
    const surrogateGradient = tf.mul(tf.sub(batch.oneHotActions, probabilities), perLogProbability);

    // Entropy: dH/dlogit = −p (log p + H); the loss holds −c_e·H.
    const entropy = tf.neg(tf.sum(tf.mul(probabilities, logProbabilities), 2, true));
    const entropyGradient = tf.mul(
      tf.mul(probabilities, tf.add(logProbabilities, entropy)),
      weights.entropyCoefficient,
    );

    // Value: V − R where the unclipped error is the larger, or where the clip is not active; else 0.
    const change = tf.sub(values, batch.oldValues);
    const clippedValues = tf.add(batch.oldValues, clampTo(change, tf.neg(weights.clip), weights.clip));
    const error = tf.sub(values, batch.returns);
    const unclippedLarger = tf.greaterEqual(tf.square(error), tf.squaredDifference(clippedValues, batch.returns));
    const inside = tf.less(tf.abs(change), weights.clip);
    const valueActive = tf.cast(tf.logicalOr(unclippedLarger, inside), 'float32');
    const valueGradient = tf.mul(tf.mul(error, valueActive), weights.valueCoefficient);

    const outputGradient = tf.div(
      tf.concat([tf.add(surrogateGradient, entropyGradient), valueGradient], 2),
      rows,
    ) as tf.Tensor3D;
    return policyValueBackward(parameters, {
      observations: batch.observations,
      activations,
      outputGradient,
      blockMasks: weights.blockMasks,
    });
  });
}

/** Gradients of a loss given its gradient with respect to the outputs, [members, rows, actions + 1]. Call it in a tidy. */
export function policyValueBackward(
  parameters: Tensors<MlpName>,
  at: { observations: tf.Tensor3D; activations: Activations; outputGradient: tf.Tensor3D; blockMasks: BlockMasks },
): Tensors<MlpName> {
  const { gradients, preActivation1Gradient } = upperBackward(parameters, at.activations, at.outputGradient);
  return {
    w1: matMul(transpose(at.observations), preActivation1Gradient),
    b1: sumRows(preActivation1Gradient),
    w2: tf.mul(gradients.w2, at.blockMasks.w2),
    b2: gradients.b2,
    w3: tf.mul(gradients.w3, at.blockMasks.w3),
    b3: gradients.b3,
  };
}

/** Epochs of minibatch updates on one batch (EARD Algorithm 1, lines 6 and 7). One configuration and generator a member. */
export function ppoUpdate(
  agent: PolicyValue,
  batch: PpoBatch,
  options: {
    observations: RowTable;
    configs: readonly PpoConfig[];
    randoms: readonly Random[];
    /** Share of the training that lies ahead, 1 … 0, for the learning rate's decay. */
    remaining: number;
  },
): void {
  const { configs, randoms, remaining } = options;
  const members = configs.length;
  const steps = batch.rows.length / members;
  const { epochs, minibatches, hidden } = configs[0];
  const actions = agent.parameters.w3.shape[2] - 1;
  const rowsPerMinibatch = Math.floor(steps / minibatches);
  const weights = {
    clip: perMember(configs.map((config) => config.clip)),
    entropyCoefficient: perMember(configs.map((config) => config.entropyCoefficient)),
    valueCoefficient: perMember(configs.map((config) => config.valueCoefficient)),
    blockMasks: blockMasks({ hidden, actions }),
  };
  const adam = {
    learningRates: configs.map(
      (config) => config.learningRate * (config.learningRateDecay === 'linear' ? remaining : 1),
    ),
    epsilon: configs[0].adamEpsilon,
    maxGradientNorm: configs.map((config) => config.maxGradientNorm),
  };
  for (let epoch = 0; epoch < epochs; epoch++) {
    const orders = randoms.map((random) => random.permutation(steps));
    for (let start = 0; start + rowsPerMinibatch <= steps; start += rowsPerMinibatch) {
      const chosen = orders.map((order) => order.subarray(start, start + rowsPerMinibatch));
      const minibatch = takeMinibatch(batch, { chosen, steps, actions, observations: options.observations });
      adamUpdate(agent, ppoGradients(agent.parameters, minibatch, weights), adam);
      tf.dispose(Object.values(minibatch));
    }
  }
  tf.dispose(weights);
}

function takeMinibatch(
  batch: PpoBatch,
  options: { chosen: readonly Int32Array[]; steps: number; actions: number; observations: RowTable },
): PpoMinibatch {
  const { chosen, steps, actions, observations } = options;
  const members = chosen.length;
  const rows = chosen[0].length;
  const take = (values: Float32Array) => {
    const taken = new Float32Array(members * rows);
    for (let member = 0; member < members; member++)
      for (let row = 0; row < rows; row++) taken[member * rows + row] = values[member * steps + chosen[member][row]];
    return taken;
  };
  const column = (values: Float32Array) => tf.tensor3d(values, [members, rows, 1]);
  const tableRows = new Int32Array(members * rows);
  const oneHot = new Float32Array(members * rows * actions);
  for (let member = 0; member < members; member++)
    for (let row = 0; row < rows; row++) {
      const step = member * steps + chosen[member][row];
      tableRows[member * rows + row] = batch.rows[step];
      oneHot[(member * rows + row) * actions + batch.actions[step]] = 1;
    }
  const advantages = take(batch.advantages);
  for (let member = 0; member < members; member++) standardize(advantages.subarray(member * rows, (member + 1) * rows));
  return {
    observations: observations.gather(tableRows, members),
    oneHotActions: tf.tensor3d(oneHot, [members, rows, actions]),
    oldLogProbabilities: column(take(batch.logProbabilities)),
    oldValues: column(take(batch.values)),
    advantages: column(advantages),
    returns: column(take(batch.returns)),
  };
}

/** In place to mean 0 and standard deviation 1. */
function standardize(values: Float32Array): void {
  let mean = 0;
  for (const value of values) mean += value / values.length;
  let variance = 0;
  for (const value of values) variance += (value - mean) ** 2 / Math.max(1, values.length - 1);
  const scale = 1 / (Math.sqrt(variance) + 1e-8);
  for (let i = 0; i < values.length; i++) values[i] = (values[i] - mean) * scale;
}
