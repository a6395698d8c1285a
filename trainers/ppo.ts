import * as tf from '@tensorflow/tfjs-core';
import { descent, type Stack } from '../src/tensor/descent.ts';
import { Given } from '../src/tensor/graph/compiled.ts';
import {
  type MlpName,
  rowProducts,
  sumColumns,
  sumRows,
  type Tensors,
  withGradient,
} from '../src/tensor/operations.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable, TakenRows } from '../src/tensor/row-table.ts';
import type { PpoConfig } from './config.ts';
import { type LabelledBatch, returnOf } from './exact-policy-gradient.ts';
import {
  type BlockMasks,
  masked,
  type PolicyValue,
  policyValueForward,
  type RowScores,
  scores,
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
 */

/** Added to the root of Adam's second moment: 1e-5 in OpenAI Baselines and the authors' code, not Adam's own 1e-8. */
export const ADAM_EPSILON = 1e-5;

/** Beyond every change of a value, and a number in single precision. */
const UNCLIPPED = 1e30;

/** The steps that were collected, [steps] each. */
export interface PpoSteps {
  /** Row of each observation in the table of states. */
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

/**
 * Epochs of minibatch updates on one iteration's steps (EARD Algorithm 1, lines 6 and 7).
 * @param options.remaining share of the training that lies ahead, 1 … 0, for the learning rate's decay
 * @param options.task the task's own return, which every update climbs as well; null for PPO alone
 * @returns the expected return before the first update, null without a task; and the scores of the steps' rows after the last one
 */
export async function ppoUpdate(
  agent: PolicyValue,
  steps: PpoSteps,
  options: { config: PpoConfig; states: RowTable; random: Random; remaining: number; task: LabelledBatch | null },
): Promise<{ expectedReturn: number | null; after: RowScores }> {
  const { config, states, random, remaining, task } = options;
  const count = steps.rows.length;
  const rows = Math.floor(count / config.minibatches);
  const updates = Math.floor(count / rows);
  const places = agent.scratch.array('places', 'int32', config.epochs * updates * rows);
  const order = agent.scratch.array('order', 'int32', count);
  for (let start = 0; start < places.length; start += updates * rows)
    places.set(random.permutation(count, order).subarray(0, updates * rows), start);
  const coefficients = Float32Array.of(
    config.clip,
    config.entropyCoefficient,
    config.valueCoefficient,
    config.valueLoss === 'clipped' ? config.clip : UNCLIPPED,
  );
  const { outputs, after } = await descendPpo(agent, {
    count: config.epochs * updates,
    batches: minibatches(steps, places, { rows, states, config, agent }),
    shared: {
      observations: states.takePadded(steps.rows),
      blockMasks: agent.blockMasks,
      coefficients: new Given(coefficients, [1, coefficients.length]),
      task,
    },
    adam: {
      learningRate: config.learningRate * (config.learningRateDecay === 'linear' ? remaining : 1),
      epsilon: ADAM_EPSILON,
      maxGradientNorm: config.maxGradientNorm,
    },
  });
  return { expectedReturn: outputs.expected?.[0] ?? null, after };
}

/** One minibatch as tensors. All but `observations` and `oneHotActions` are [rows, 1]. */
export interface PpoMinibatch {
  readonly observations: tf.Tensor2D;
  /** [rows, actions]. */
  readonly oneHotActions: tf.Tensor2D;
  readonly oldLogProbabilities: tf.Tensor2D;
  readonly oldValues: tf.Tensor2D;
  /** Standardised, unless told otherwise. */
  readonly advantages: tf.Tensor2D;
  /** Weights of rows in the policy's part of the loss: 1, or 0 where its action was not chosen and more elsewhere. */
  readonly policyWeights: tf.Tensor2D;
  readonly returns: tf.Tensor2D;
}

/** Coefficients of the loss, each [1, 1]: tensors, so that trainings that differ in them share a compiled step. */
export interface PpoCoefficients {
  readonly clip: tf.Tensor2D;
  readonly entropy: tf.Tensor2D;
  readonly value: tf.Tensor2D;
  /** Range of the value's change; more than any change where it is free. */
  readonly valueClip: tf.Tensor2D;
}

/** −L^CLIP + c_v·½ max((V−R)², (V_clipped−R)²) − c_e·H, means over rows: [1, 1]. */
export function ppoLoss(
  parameters: Tensors<MlpName>,
  batch: PpoMinibatch,
  { clip, entropy: c_e, value: c_v, valueClip }: PpoCoefficients,
): tf.Tensor2D {
  const { logProbabilities, values } = policyValueForward(parameters, batch.observations);
  const logProbability = rowProducts(logProbabilities, batch.oneHotActions);
  const surrogate = clippedSurrogate(tf.sub(logProbability, batch.oldLogProbabilities), batch.advantages, clip);

  const valueLoss = clippedValueLoss(values, batch, valueClip);
  const ofPolicy = tf.mul(tf.add(surrogate, tf.mul(entropyOf(logProbabilities), c_e)), batch.policyWeights);
  const loss = tf.sub<tf.Tensor2D>(tf.mul(valueLoss, c_v), ofPolicy);
  return tf.mul(sumRows(loss), 1 / values.shape[0]);
}

/*
 * The parts of the loss have gradients that are written out, for automatic ones take several times as many nodes.
 */

/** min(x A, clip(x) A), where x is the ratio of a probability to the old one. Where the clipped term is smaller, x is beyond the range. */
export function clippedSurrogate(logRatio: tf.Tensor2D, advantages: tf.Tensor2D, clip: tf.Tensor2D): tf.Tensor2D {
  const ratio = tf.exp(logRatio);
  const free = tf.mul<tf.Tensor2D>(ratio, advantages);
  const clipped = tf.mul<tf.Tensor2D>(clampTo(ratio, tf.sub(1, clip), tf.add(1, clip)), advantages);
  return withGradient([logRatio], {
    saved: [free, clipped],
    value: () => tf.minimum(free, clipped),
    gradients: (dy, [free, clipped]) => [tf.mul(where(tf.lessEqual(free, clipped), dy), free)],
  });
}

/**
 * ½ max((V−R)², (V_clipped−R)²). Where the clipped error is larger, V is beyond the range; where nothing is clipped, both errors are the
 * same to the last bit.
 */
export function clippedValueLoss(
  values: tf.Tensor2D,
  { oldValues, returns }: Pick<PpoMinibatch, 'oldValues' | 'returns'>,
  clip: tf.Tensor2D,
): tf.Tensor2D {
  const change = tf.sub<tf.Tensor2D>(values, oldValues);
  const beyond = tf.sub<tf.Tensor2D>(change, clampTo(change, tf.neg(clip), clip));
  const error = tf.sub<tf.Tensor2D>(values, returns);
  const free = tf.square(error);
  const clipped = tf.square(tf.sub<tf.Tensor2D>(error, beyond));
  return withGradient([values], {
    saved: [free, clipped, error],
    value: () => tf.mul(0.5, tf.maximum(free, clipped)),
    gradients: (dy, [free, clipped, error]) => [tf.mul(where(tf.greaterEqual(free, clipped), dy), error)],
  });
}

/** H of each row, [rows, 1]. Its gradient lacks a term, −p, which a softmax takes from the gradient of its logits anyway. */
function entropyOf(logProbabilities: tf.Tensor2D): tf.Tensor2D {
  const terms = tf.mul<tf.Tensor2D>(tf.exp(logProbabilities), logProbabilities);
  return withGradient([logProbabilities], {
    saved: [terms],
    value: () => tf.neg(sumColumns(terms)),
    gradients: (dy, [terms]) => [tf.mul(terms, tf.neg(dy))],
  });
}

/** x where a condition holds, else 0. */
function where(condition: tf.Tensor, x: tf.Tensor2D): tf.Tensor2D {
  return tf.mul(x, tf.cast(condition, 'float32'));
}

function clampTo(x: tf.Tensor2D, low: tf.Tensor, high: tf.Tensor): tf.Tensor2D {
  return tf.maximum(low, tf.minimum(high, x));
}

/** A minibatch whose columns are one tensor, for each tensor that a graph is given takes time. */
type PackedMinibatch = {
  readonly observations: tf.Tensor2D;
  /** All but the observations side by side, in the order of `unpacked`: [rows, actions + 5]. */
  readonly columns: tf.Tensor2D;
};

const otherColumns = 5;

function unpacked({ observations, columns }: PackedMinibatch): PpoMinibatch {
  const actions = columns.shape[1] - otherColumns;
  const [oneHotActions, oldLogProbabilities, oldValues, advantages, policyWeights, returns] = tf.split<tf.Tensor2D>(
    columns,
    [actions, ...Array<number>(otherColumns).fill(1)],
    1,
  );
  return { observations, oneHotActions, oldLogProbabilities, oldValues, advantages, policyWeights, returns };
}

/** Inputs that all updates of an iteration share. */
interface PpoUpdates {
  /** All its steps, which are scored after the last update. */
  readonly observations: TakenRows;
  readonly blockMasks: BlockMasks | null;
  /** In the order of `PpoCoefficients`: [1, 4]. */
  readonly coefficients: tf.Tensor2D;
  readonly task: LabelledBatch | null;
}

const descendPpo = descent(
  (parameters: Tensors<MlpName>, batch: PackedMinibatch, { blockMasks, coefficients, task }: PpoUpdates) => {
    const network = masked(parameters, blockMasks);
    const [clip, entropy, value, valueClip] = tf.split<tf.Tensor2D>(coefficients, 4, 1);
    const loss = ppoLoss(network, unpacked(batch), { clip, entropy, value, valueClip });
    const expected = task === null ? null : returnOf(network, task);
    const whole = task === null || expected === null ? loss : tf.sub(loss, tf.mul(task.weight, expected));
    return { loss: whole, outputs: { expected } };
  },
  (parameters, { observations }: PpoUpdates) => scores(parameters, observations),
);

/** All minibatches, of so many rows each. */
function minibatches(
  steps: PpoSteps,
  places: Int32Array,
  options: { rows: number; states: RowTable; config: PpoConfig; agent: PolicyValue },
): Record<keyof PackedMinibatch, Stack> {
  const { actions, chosen, logProbabilities, values, advantages, returns } = steps;
  const { rows, states, config, agent } = options;
  const isStandardized = config.advantages !== 'none';
  const width = agent.actions + otherColumns;
  const observed = agent.scratch.array('rows', 'int32', places.length);
  const columns = agent.scratch.array('columns', 'float32', places.length * width).fill(0);
  for (let first = 0; first < places.length; first += rows) {
    const { mean, scale, count } = momentsOf(advantages, chosen, places.subarray(first, first + rows));
    for (let place = first; place < first + rows; place++) {
      const step = places[place];
      const start = place * width;
      const others = start + agent.actions;
      observed[place] = steps.rows[step];
      columns[start + actions[step]] = 1;
      columns[others] = logProbabilities[step];
      columns[others + 1] = values[step];
      columns[others + 2] = isStandardized ? (advantages[step] - mean) * scale : advantages[step];
      // So that the mean over all rows is the mean over those that were chosen.
      columns[others + 3] = chosen[step] === 1 ? rows / count : 0;
      columns[others + 4] = returns[step];
    }
  }
  return { observations: { states, rows: observed }, columns: { numbers: columns, width } };
}

/** Mean and deviation that standardise advantages, over the rows whose action was chosen, and their count. */
function momentsOf(advantages: Float32Array, chosen: Uint8Array, places: Int32Array) {
  let count = 0;
  let mean = 0;
  let variance = 0;
  for (let place = 0; place < places.length; place++) count += chosen[places[place]];
  for (let place = 0; place < places.length; place++)
    if (chosen[places[place]] === 1) mean += advantages[places[place]] / count;
  for (let place = 0; place < places.length; place++)
    if (chosen[places[place]] === 1) variance += (advantages[places[place]] - mean) ** 2 / Math.max(1, count - 1);
  return { mean, scale: 1 / (Math.sqrt(variance) + 1e-8), count };
}
