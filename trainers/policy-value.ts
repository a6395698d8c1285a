import * as tf from '@tensorflow/tfjs-core';
import type { Matrix } from '../checkpoints/policy/network.ts';
import { disposeOptimized, type Optimized, optimized, parametersOf } from '../src/tensor/adam.ts';
import { compiled } from '../src/tensor/graph/compiled.ts';
import { orthogonal } from '../src/tensor/initializers.ts';
import {
  layer,
  logSoftmax,
  type MlpName,
  type Shapes,
  sliceColumns,
  type Tensors,
  upperForward,
  withGradient,
} from '../src/tensor/operations.ts';
import type { Random } from '../src/tensor/random.ts';
import { gathered, type TakenRows } from '../src/tensor/row-table.ts';

/*
 * The policy's network, a perceptron with two tanh layers, and beside it PPO's critic, where something is estimated from rollouts.
 * The critic is a perceptron of the same size; both lie side by side in one block-diagonal network so that they share every
 * product: hidden units 0 … h−1 belong to the policy, h … 2h−1 to the value; the outputs are the action logits, then the value.
 */

/** The networks with their Adam moments. */
export interface PolicyValue extends Optimized<MlpName> {
  readonly actions: number;
  /** Null without a critic. */
  readonly blockMasks: BlockMasks | null;
}

/** 1 inside the blocks of `w2` and `w3`, 0 outside: keeps policy and value apart. */
export interface BlockMasks {
  readonly w2: tf.Tensor2D;
  readonly w3: tf.Tensor2D;
}

interface Sizes {
  readonly inputs: number;
  readonly actions: number;
  /** Units in each hidden layer, of policy and value each. */
  readonly hidden: number;
  readonly hasCritic: boolean;
}

/**
 * Orthogonal weights with gain √2, 0.01 for the policy's head and 1 for the value's; biases 0 (the initialisation of OpenAI
 * Baselines' PPO). The policy is the same with a critic and without.
 * @param options.logits biases of the actions, instead of 0
 */
export function createPolicyValue(options: Sizes & { random: Random; logits?: readonly number[] }): PolicyValue {
  const { inputs, actions, hidden, hasCritic, random, logits = [] } = options;
  const draw = (rows: number, columns: number, gain: number) => ({
    rows,
    columns,
    data: orthogonal({ rows, columns, gain, random }),
  });
  const [beside, diagonal] = hasCritic ? [besideEachOther, blockDiagonal] : [policyAlone, policyAlone];
  const w1 = beside(draw(inputs, hidden, Math.SQRT2), draw(inputs, hidden, Math.SQRT2));
  const w2 = diagonal(draw(hidden, hidden, Math.SQRT2), draw(hidden, hidden, Math.SQRT2));
  const w3 = diagonal(draw(hidden, actions, 0.01), draw(hidden, 1, 1));
  const bias = ({ columns }: Matrix, values: readonly number[] = []) =>
    tf.tensor2d(
      Float32Array.from({ length: columns }, (_, column) => values[column] ?? 0),
      [1, columns],
    );
  return {
    ...optimized({
      w1: tensorOf(w1),
      b1: bias(w1),
      w2: tensorOf(w2),
      b2: bias(w2),
      w3: tensorOf(w3),
      b3: bias(w3, logits),
    }),
    actions,
    blockMasks: hasCritic ? createBlockMasks({ hidden, actions }) : null,
  };
}

function tensorOf({ data, rows, columns }: Matrix): tf.Tensor2D {
  return tf.tensor2d(data, [rows, columns]);
}

function createBlockMasks({ hidden, actions }: Pick<Sizes, 'hidden' | 'actions'>): BlockMasks {
  const ones = (rows: number, columns: number) => ({ rows, columns, data: new Float32Array(rows * columns).fill(1) });
  return {
    w2: tensorOf(blockDiagonal(ones(hidden, hidden), ones(hidden, hidden))),
    w3: tensorOf(blockDiagonal(ones(hidden, actions), ones(hidden, 1))),
  };
}

export function disposePolicyValue(network: PolicyValue): void {
  disposeOptimized(network);
  if (network.blockMasks !== null) tf.dispose([network.blockMasks.w2, network.blockMasks.w3]);
}

/** The parameters for a loss that may not move them off the blocks, where they are zero. */
export function masked(parameters: Tensors<MlpName>, blockMasks: BlockMasks | null): Tensors<MlpName> {
  if (blockMasks === null) return parameters;
  const onBlocks = (weights: tf.Tensor2D, mask: tf.Tensor2D) =>
    withGradient([weights], {
      saved: [mask],
      value: () => tf.clone(weights),
      gradients: (dy, [mask]) => [tf.mul(dy, mask)],
    });
  return {
    ...parameters,
    w2: onBlocks(parameters.w2, blockMasks.w2),
    w3: onBlocks(parameters.w3, blockMasks.w3),
  };
}

/** Log-probabilities of the actions, [rows, actions], by a network with a critic or without. */
export function policyForward(
  parameters: Tensors<MlpName>,
  observations: tf.Tensor2D,
  { actions }: { actions: number },
): tf.Tensor2D {
  return tf.tidy(() => {
    const output = networkOutputs(parameters, observations);
    return logSoftmax(output.shape[1] === actions ? output : sliceColumns(output, 0, actions));
  });
}

/** Logits and the state values, [rows, 1], by a network with a critic. */
export function policyValueForward(parameters: Tensors<MlpName>, observations: tf.Tensor2D) {
  return tf.tidy(() => {
    const output = networkOutputs(parameters, observations);
    const [logits, values] = tf.split<tf.Tensor2D>(output, [output.shape[1] - 1, 1], 1);
    return { logProbabilities: logSoftmax(logits), values };
  });
}

/** Outputs of the last layer, [rows, actions and perhaps the value]. */
export function networkOutputs(parameters: Tensors<MlpName>, observations: tf.Tensor2D): tf.Tensor2D {
  const first = { weights: parameters.w1, bias: parameters.b1 };
  return upperForward(parameters, layer(observations, first, { isTanh: true, inputIsData: true })).output;
}

/** log π(stop) and V of a two-action network with a critic, [rows, 1] each. */
export function scores(parameters: Tensors<MlpName>, observations: TakenRows) {
  const { logProbabilities, values } = policyValueForward(parameters, gathered(observations));
  return { stopLogProbabilities: sliceColumns(logProbabilities, 1, 1), values };
}

const compiledScores = compiled(
  ({ moving, observations }: { moving: tf.Tensor2D; observations: TakenRows }, shapes: Shapes<MlpName>) =>
    scores(parametersOf({ moving, shapes }), observations),
  { reads: ['stopLogProbabilities', 'values'] },
);

/** log π(stop) and V of rows, [rows] each. */
export interface RowScores {
  readonly stopLogProbabilities: Float32Array;
  readonly values: Float32Array;
}

/** The scores of rows of the table. */
export async function scoresOf({ moving, shapes }: PolicyValue, observations: TakenRows): Promise<RowScores> {
  return compiledScores({ moving, observations }, shapes);
}

/** Below any log-complement that float32 can hold: the largest probability under 1 is 1 − 6e-8, whose is −16.6. */
const lowestLogComplement = -20;

/**
 * log(1 − p) given log p: with two actions, the log-probability of the other one. A policy so sure of one action that
 * its float32 log-probability is 0 gives the other a very small one, not −∞.
 */
export function logComplement(logProbability: number): number {
  return Math.max(lowestLogComplement, Math.log1p(-Math.exp(logProbability)));
}

function policyAlone(policy: Matrix): Matrix {
  return policy;
}

function besideEachOther(left: Matrix, right: Matrix): Matrix {
  return placed({ rows: left.rows, columns: left.columns + right.columns }, [
    { matrix: left, row: 0, column: 0 },
    { matrix: right, row: 0, column: left.columns },
  ]);
}

function blockDiagonal(upperLeft: Matrix, lowerRight: Matrix): Matrix {
  return placed({ rows: upperLeft.rows + lowerRight.rows, columns: upperLeft.columns + lowerRight.columns }, [
    { matrix: upperLeft, row: 0, column: 0 },
    { matrix: lowerRight, row: upperLeft.rows, column: upperLeft.columns },
  ]);
}

/** Zero outside the given parts. */
function placed(
  shape: { rows: number; columns: number },
  parts: readonly { matrix: Matrix; row: number; column: number }[],
): Matrix {
  const data = new Float32Array(shape.rows * shape.columns);
  for (const { matrix, row, column } of parts)
    for (let r = 0; r < matrix.rows; r++)
      data.set(matrix.data.subarray(r * matrix.columns, (r + 1) * matrix.columns), (row + r) * shape.columns + column);
  return { ...shape, data };
}
