import * as tf from '@tensorflow/tfjs-core';
import type { Matrix } from '../checkpoints/policy/network.ts';
import { disposeOptimized, type Optimized, optimized } from '../src/tensor/adam.ts';
import { layer, logSoftmax, type MlpName, mapTensors, type Tensors, upperForward } from '../src/tensor/batched-ops.ts';
import { orthogonal, stackMembers } from '../src/tensor/initializers.ts';
import { compiled } from '../src/tensor/onnx/compiled.ts';
import type { Random } from '../src/tensor/random.ts';

/*
 * The policy's network, a perceptron with two tanh layers, and beside it PPO's critic, where something is estimated from rollouts.
 * The critic is a perceptron of the same size; both lie side by side in one block-diagonal network so that they share every
 * product: hidden units 0 … h−1 belong to the policy, h … 2h−1 to the value; the outputs are the action logits, then the value.
 */

/** A batch's networks with their Adam moments; every tensor is [members, rows, columns]. */
export interface PolicyValue extends Optimized<MlpName> {
  readonly actions: number;
  /** Null without a critic. */
  readonly blockMasks: BlockMasks | null;
}

/** 1 inside the blocks of `w2` and `w3`, 0 outside, [1, rows, columns]: keeps policy and value apart. */
export interface BlockMasks {
  readonly w2: tf.Tensor3D;
  readonly w3: tf.Tensor3D;
}

interface Sizes {
  readonly inputs: number;
  readonly actions: number;
  /** Units in each hidden layer, of policy and value each. */
  readonly hidden: number;
  readonly hasCritic: boolean;
}

/**
 * Orthogonal weights with gain √2, 0.01 for the policy's head and 1 for the value's; biases 0 (the
 * initialisation of OpenAI Baselines' PPO). One member for each generator, whose policy is the same with a critic and without.
 */
export function createPolicyValue(options: Sizes & { randoms: readonly Random[] }): PolicyValue {
  const { inputs, actions, hidden, hasCritic, randoms } = options;
  const [beside, diagonal] = hasCritic ? [besideEachOther, blockDiagonal] : [policyAlone, policyAlone];
  const members = randoms.map((random) => {
    const draw = (rows: number, columns: number, gain: number) => ({
      rows,
      columns,
      data: orthogonal({ rows, columns, gain, random }),
    });
    const w1 = [draw(inputs, hidden, Math.SQRT2), draw(inputs, hidden, Math.SQRT2)] as const;
    const w2 = [draw(hidden, hidden, Math.SQRT2), draw(hidden, hidden, Math.SQRT2)] as const;
    const w3 = [draw(hidden, actions, 0.01), draw(hidden, 1, 1)] as const;
    return { w1: beside(...w1), w2: diagonal(...w2), w3: diagonal(...w3) };
  });
  const stack = (name: 'w1' | 'w2' | 'w3') =>
    stackMembers(
      members.map((member) => member[name].data),
      members[0][name],
    );
  const bias = (name: 'w1' | 'w2' | 'w3') => tf.zeros([randoms.length, 1, members[0][name].columns]) as tf.Tensor3D;
  return {
    ...optimized({
      w1: stack('w1'),
      b1: bias('w1'),
      w2: stack('w2'),
      b2: bias('w2'),
      w3: stack('w3'),
      b3: bias('w3'),
    }),
    actions,
    blockMasks: hasCritic ? createBlockMasks({ hidden, actions }) : null,
  };
}

function createBlockMasks({ hidden, actions }: Pick<Sizes, 'hidden' | 'actions'>): BlockMasks {
  const ones = (rows: number, columns: number) => ({ rows, columns, data: new Float32Array(rows * columns).fill(1) });
  const w2 = blockDiagonal(ones(hidden, hidden), ones(hidden, hidden));
  const w3 = blockDiagonal(ones(hidden, actions), ones(hidden, 1));
  return { w2: tf.tensor3d(w2.data, [1, w2.rows, w2.columns]), w3: tf.tensor3d(w3.data, [1, w3.rows, w3.columns]) };
}

/** One batch of the networks of single runs; takes ownership of them. Their counts of updates must be equal. */
export function stackPolicyValues(networks: readonly PolicyValue[]): PolicyValue {
  const [first, ...others] = networks;
  if (others.length === 0) return first;
  const stacked = (part: 'parameters' | 'gradientSums' | 'squareSums') =>
    mapTensors(first[part], (_, name) =>
      tf.concat(
        networks.map((network) => network[part][name]),
        0,
      ),
    );
  const batch = {
    parameters: stacked('parameters'),
    gradientSums: stacked('gradientSums'),
    squareSums: stacked('squareSums'),
    updates: first.updates,
    actions: first.actions,
    blockMasks: first.blockMasks,
  };
  disposeOptimized(first);
  for (const network of others) disposePolicyValue(network);
  return batch;
}

export function disposePolicyValue(network: PolicyValue): void {
  disposeOptimized(network);
  if (network.blockMasks !== null) tf.dispose([network.blockMasks.w2, network.blockMasks.w3]);
}

/** The parameters with zeros off the blocks, where a loss must not move them. */
export function masked(parameters: Tensors<MlpName>, blockMasks: BlockMasks | null): Tensors<MlpName> {
  if (blockMasks === null) return parameters;
  const { w2, w3 } = blockMasks;
  return { ...parameters, w2: tf.mul(parameters.w2, w2), w3: tf.mul(parameters.w3, w3) };
}

/** Log-probabilities of the actions, [members, rows, actions], by a network with a critic or without. */
export function policyForward(
  parameters: Tensors<MlpName>,
  observations: tf.Tensor3D,
  { actions }: { actions: number },
): tf.Tensor3D {
  return tf.tidy(() => {
    const output = networkOutputs(parameters, observations);
    const [members, rows, all] = output.shape;
    return logSoftmax(all === actions ? output : tf.slice(output, [0, 0, 0], [members, rows, actions]));
  });
}

/** The same and the state values, [members, rows, 1], by a network with a critic. */
export function policyValueForward(parameters: Tensors<MlpName>, observations: tf.Tensor3D) {
  return tf.tidy(() => {
    const output = networkOutputs(parameters, observations);
    const [members, rows, all] = output.shape;
    return {
      logProbabilities: logSoftmax(tf.slice(output, [0, 0, 0], [members, rows, all - 1])),
      values: tf.slice(output, [0, 0, all - 1], [members, rows, 1]),
    };
  });
}

/** What the last layer gives, [members, rows, actions and perhaps the value]. */
export function networkOutputs(parameters: Tensors<MlpName>, observations: tf.Tensor3D): tf.Tensor3D {
  const first = { weights: parameters.w1, bias: parameters.b1 };
  return upperForward(parameters, layer(observations, first, { isTanh: true, inputIsData: true })).output;
}

/** log π(stop) and V of two-action networks with a critic, [members, rows, 1] each. */
export const scored = compiled(
  ({ parameters, observations }: { parameters: Tensors<MlpName>; observations: tf.Tensor3D }) => {
    const { logProbabilities, values } = policyValueForward(parameters, observations);
    const [members, rows] = values.shape;
    return { stopLogProbabilities: tf.slice(logProbabilities, [0, 0, 1], [members, rows, 1]), values };
  },
);

/** log π(stop) and V of rows, [rows] each. */
export interface RowScores {
  readonly stopLogProbabilities: Float32Array;
  readonly values: Float32Array;
}

/** Reads and disposes what `scored` found of each member's first rows, as many as it has. */
export async function readScores(
  scores: { readonly stopLogProbabilities: tf.Tensor3D; readonly values: tf.Tensor3D },
  counts: readonly number[],
): Promise<RowScores[]> {
  const most = scores.values.shape[1];
  const stops = await scores.stopLogProbabilities.data<'float32'>();
  const values = await scores.values.data<'float32'>();
  tf.dispose([scores.stopLogProbabilities, scores.values]);
  return counts.map((count, member) => {
    const ofMember = [member * most, member * most + count] as const;
    return { stopLogProbabilities: stops.subarray(...ofMember), values: values.subarray(...ofMember) };
  });
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
