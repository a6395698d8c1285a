import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { type MlpName, perMember, type Tensors } from '../src/tensor/batched-ops.ts';
import { descent } from '../src/tensor/descent.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTables } from '../src/tensor/row-tables.ts';
import { type LabelledBatch, returnsOf } from './exact-policy-gradient.ts';
import {
  type BlockMasks,
  masked,
  type PolicyValue,
  policyValueForward,
  type RowScores,
  readScores,
  scored,
} from './policy-value.ts';

/*
 * PPO-clip (Schulman et al. 2017) for discrete actions, with the details of the OpenAI Baselines implementation that
 * EARD's code follows: orthogonal initialisation, clipped value loss, standardised advantages, global norm clipping.
 *
 *   symbol    paper (EARD Eq. 5, 6)               here
 *   ε         clips the ratio                     clips ratio and value alike, as the authors' code does; `valueLoss: squared` is Eq. 6
 *   A         as it is                            standardised in each minibatch; `advantages: none` is the paper's
 *   batch 4   "batch size 4" for policy, value    four minibatches an epoch, as the authors' code does; `minibatches: 50` is the other reading
 *
 * The paper's Table 3 gives 200 steps an iteration, 4 epochs, ε = 0.1, entropy 0.01, γ = 0.99, λ = 0.97 and 3e-4 for the value
 * network. From the authors' code: 3e-4 for the policy, too, value 0.5, gradient norm 0.5, Adam's ε 1e-5 and linear decay. Two
 * choices are neither's: the advantages are standardised in each minibatch (the code: over all steps of the iteration), and
 * the value head starts with gain 1 (the code: √2).
 *
 * Every tensor is [members, rows, columns]: the leading axis counts the batched runs, and nothing here mixes its members.
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
    .enum(['per-minibatch', 'none'])
    .default('per-minibatch')
    .describe('per-minibatch: standardised over the steps of each minibatch; none: Eq. 5 as it stands'),
  valueLoss: z
    .enum(['clipped', 'squared'])
    .default('clipped')
    .describe(
      'of the value network: clipped, the larger of the squared errors with and without a clipped change of the value, as in the published code; squared, Eq. 6 as it stands',
    ),
});
export type PpoConfig = z.infer<typeof ppoSchema>;

/** Added to the root of Adam's second moment: 1e-5 in OpenAI Baselines and the authors' code, not Adam's own 1e-8. */
export const ADAM_EPSILON = 1e-5;

/** Beyond every change of a value, and a number in single precision. */
const UNCLIPPED = 1e30;

/** The steps one member collected, [steps] each. */
export interface PpoSteps {
  /** Row of each observation in the member's table. */
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
  /** 1 where the agent chose the action. Where it did not, the value is learnt and the policy is not. */
  readonly chosen: Uint8Array;
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
  /** Standardised, unless told otherwise. */
  readonly advantages: tf.Tensor3D;
  /** What a row counts for in the policy's part of the loss: 1, or 0 where its action was not chosen and more elsewhere. */
  readonly policyWeights: tf.Tensor3D;
  readonly returns: tf.Tensor3D;
}

/** Coefficients of the loss, each [members, 1, 1]. */
export interface PpoCoefficients {
  readonly clip: tf.Tensor3D;
  readonly entropy: tf.Tensor3D;
  readonly value: tf.Tensor3D;
  /** Range of the value's change; more than any change where it is free. */
  readonly valueClip: tf.Tensor3D;
}

/**
 * Epochs of minibatch updates on one iteration's steps (EARD Algorithm 1, lines 6 and 7).
 * @param options.remaining share of the training that lies ahead, 1 … 0, for the learning rate's decay
 * @param options.task the task's own return, which every update climbs as well; null for PPO alone
 * @returns the members' expected returns before the first update, null without a task; and their scores of the steps' rows after
 *   the last one
 */
export async function ppoUpdate(
  agent: PolicyValue,
  members: readonly PpoMember[],
  options: { states: RowTables; remaining: number; task: LabelledBatch | null },
): Promise<{ returns: Float32Array | null; after: RowScores[] }> {
  const { states, remaining, task } = options;
  const { epochs, minibatches } = members[0].config;
  const steps = members[0].steps.rows.length;
  const rows = Math.floor(steps / minibatches);
  const updates = Math.floor(steps / rows);
  let orders: readonly Int32Array[] = [];
  const draw = (update: number) => {
    if (update === 0) orders = members.map(({ random }) => random.permutation(steps));
    const chosen = orders.map((order) => order.subarray(update * rows, (update + 1) * rows));
    return takeMinibatch(members, { chosen, states, actions: agent.actions });
  };
  const configs = members.map(({ config }) => config);
  const coefficients = {
    clip: perMember(configs.map(({ clip }) => clip)),
    entropy: perMember(configs.map(({ entropyCoefficient }) => entropyCoefficient)),
    value: perMember(configs.map(({ valueCoefficient }) => valueCoefficient)),
    valueClip: perMember(configs.map(({ valueLoss, clip }) => (valueLoss === 'clipped' ? clip : UNCLIPPED))),
  };
  const observations = states.gatherPadded(members.map(({ steps: { rows } }) => rows));
  const { seen, after } = await descendPpo(agent, {
    batches: Array.from({ length: epochs * updates }, (_, update) => () => draw(update % updates)),
    shared: { observations, blockMasks: agent.blockMasks, coefficients, task },
    adam: {
      learningRates: configs.map(
        ({ learningRate, learningRateDecay }) => learningRate * (learningRateDecay === 'linear' ? remaining : 1),
      ),
      epsilon: ADAM_EPSILON,
      maxGradientNorm: configs.map(({ maxGradientNorm }) => maxGradientNorm),
    },
  });
  const returns = (await seen[0].returns?.data<'float32'>()) ?? null;
  tf.dispose([observations, Object.values(coefficients), seen.map(({ returns }) => returns ?? [])]);
  return {
    returns,
    after: await readScores(
      after,
      members.map(() => steps),
    ),
  };
}

/** The loss of each member, [members, 1, 1]: −L^CLIP + c_v·½ max((V−R)², (V_clipped−R)²) − c_e·H, means over rows. */
export function ppoLoss(
  parameters: Tensors<MlpName>,
  batch: PpoMinibatch,
  { clip, entropy: c_e, value: c_v, valueClip }: PpoCoefficients,
): tf.Tensor3D {
  const { logProbabilities, values } = policyValueForward(parameters, batch.observations);
  const logProbability = tf.sum<tf.Tensor3D>(tf.mul(logProbabilities, batch.oneHotActions), 2, true);
  const surrogate = clippedSurrogate(tf.sub(logProbability, batch.oldLogProbabilities), batch.advantages, clip);

  const clippedValues = tf.add(batch.oldValues, clampTo(tf.sub(values, batch.oldValues), tf.neg(valueClip), valueClip));
  const valueError = tf.squaredDifference(values, batch.returns);
  const valueLoss = tf.mul(0.5, tf.maximum(valueError, tf.squaredDifference(clippedValues, batch.returns)));

  const ofPolicy = tf.mul(tf.add(surrogate, tf.mul(entropyOf(logProbabilities), c_e)), batch.policyWeights);
  const loss = tf.sub(tf.mul(valueLoss, c_v), ofPolicy);
  return tf.mul(tf.sum<tf.Tensor3D>(loss, 1, true), 1 / values.shape[1]);
}

/** min(x A, clip(x) A), where x is the ratio of a probability to the old one. */
export function clippedSurrogate(logRatio: tf.Tensor3D, advantages: tf.Tensor3D, clip: tf.Tensor3D): tf.Tensor3D {
  const ratio = tf.exp(logRatio);
  const clipped = clampTo(ratio, tf.sub(1, clip), tf.add(1, clip));
  return tf.minimum(tf.mul(ratio, advantages), tf.mul(clipped, advantages));
}

/** H of each row, [members, rows, 1]. */
function entropyOf(logProbabilities: tf.Tensor3D): tf.Tensor3D {
  return tf.neg(tf.sum<tf.Tensor3D>(tf.mul(tf.exp(logProbabilities), logProbabilities), 2, true));
}

function clampTo(x: tf.Tensor3D, low: tf.Tensor, high: tf.Tensor): tf.Tensor3D {
  return tf.maximum(low, tf.minimum(high, x));
}

/** A minibatch whose columns are one tensor, for each tensor that a graph is given takes time. */
interface PackedMinibatch {
  readonly observations: tf.Tensor3D;
  /** All but the observations side by side, in the order of `unpacked`: [members, rows, actions + 5]. */
  readonly columns: tf.Tensor3D;
}

const otherColumns = 5;

function unpacked({ observations, columns }: PackedMinibatch): PpoMinibatch {
  const actions = columns.shape[2] - otherColumns;
  const [oneHotActions, oldLogProbabilities, oldValues, advantages, policyWeights, returns] = tf.split<tf.Tensor3D>(
    columns,
    [actions, ...Array<number>(otherColumns).fill(1)],
    2,
  );
  return { observations, oneHotActions, oldLogProbabilities, oldValues, advantages, policyWeights, returns };
}

/** What all updates of an iteration share. */
interface PpoUpdates {
  /** Of all its steps, which are scored after the last update: [members, steps, inputs]. */
  readonly observations: tf.Tensor3D;
  readonly blockMasks: BlockMasks | null;
  readonly coefficients: PpoCoefficients;
  readonly task: LabelledBatch | null;
}

const descendPpo = descent<
  MlpName,
  PackedMinibatch,
  PpoUpdates,
  { returns: tf.Tensor3D | null },
  ReturnType<typeof scored>
>(
  (parameters, batch, { blockMasks, coefficients, task }) => {
    const network = masked(parameters, blockMasks);
    const loss = ppoLoss(network, unpacked(batch), coefficients);
    if (task === null) return { loss, seen: { returns: null } };
    const returns = returnsOf(network, task);
    return { loss: tf.sub(loss, tf.mul(task.weights, returns)), seen: { returns } };
  },
  (parameters, { observations }) => scored({ parameters, observations }),
);

function takeMinibatch(
  members: readonly PpoMember[],
  options: { chosen: readonly Int32Array[]; states: RowTables; actions: number },
): PackedMinibatch {
  const { chosen, states, actions } = options;
  const advantagesOf = ({ steps: { advantages, chosen }, config }: PpoMember, places: Int32Array) => {
    const own = picked(advantages, places);
    return config.advantages === 'none' ? own : standardized(own, chosenOf({ chosen }, places));
  };
  const rows = chosen[0].length;
  const width = actions + otherColumns;
  const columns = new Float32Array(members.length * rows * width);
  for (const [member, own] of members.entries()) {
    const { steps } = own;
    const places = chosen[member];
    const advantages = advantagesOf(own, places);
    const weights = policyWeights(chosenOf(steps, places));
    for (const [row, step] of places.entries()) {
      const start = (member * rows + row) * width;
      columns[start + steps.actions[step]] = 1;
      const others = [
        steps.logProbabilities[step],
        steps.values[step],
        advantages[row],
        weights[row],
        steps.returns[step],
      ];
      columns.set(others, start + actions);
    }
  }
  return {
    observations: states.gather(members.map(({ steps }, member) => chosen[member].map((step) => steps.rows[step]))),
    columns: tf.tensor3d(columns, [members.length, rows, width]),
  };
}

function picked(values: Float32Array, places: Int32Array): Float32Array {
  return Float32Array.from(places, (place) => values[place]);
}

function chosenOf({ chosen }: Pick<PpoSteps, 'chosen'>, places: Int32Array): Uint8Array {
  return Uint8Array.from(places, (place) => chosen[place]);
}

/** So that the mean over all rows is the mean over those that were chosen. */
function policyWeights(chosen: Uint8Array): Float32Array {
  const count = chosen.reduce((sum, own) => sum + own, 0);
  return Float32Array.from(chosen, (own) => (own === 1 ? chosen.length / count : 0));
}

/** To mean 0 and standard deviation 1 over what was chosen. */
function standardized(values: Float32Array, chosen: Uint8Array): Float32Array {
  const own = values.filter((_, place) => chosen[place] === 1);
  let mean = 0;
  for (const value of own) mean += value / own.length;
  let variance = 0;
  for (const value of own) variance += (value - mean) ** 2 / Math.max(1, own.length - 1);
  const scale = 1 / (Math.sqrt(variance) + 1e-8);
  return values.map((value) => (value - mean) * scale);
}
