import * as tf from '@tensorflow/tfjs-core';
import { logSoftmax } from '../../../../src/tensor/operations.ts';

export interface KernelInputs {
  /** [2, 3, 4] each. */
  readonly x: tf.Tensor3D;
  readonly y: tf.Tensor3D;
  /** Above 0. */
  readonly positive: tf.Tensor3D;
  readonly truth: tf.Tensor3D;
}

export function kernelInputs({ x, y }: { x: tf.Tensor3D; y: tf.Tensor3D }): KernelInputs {
  return { x, y, positive: tf.add(tf.square(x), 0.1), truth: tf.greaterEqual(x, 0) };
}

/** The first numbers of a tensor in another shape. */
function first(tensor: tf.Tensor3D, shape: number[]): tf.Tensor {
  return tf.reshape(tf.slice(tf.reshape(tensor, [24]), [0], [tf.util.sizeFromShape(shape)]), shape);
}

/** By the name of the kernel, as ONNX files are made of them: one case each, where it matters with broadcasting. */
export const kernelCases: Readonly<Record<string, (inputs: KernelInputs) => tf.Tensor | tf.Tensor[]>> = {
  Add: ({ x, y }) => tf.add(x, first(y, [4])),
  AddN: ({ x, y }) => tf.addN([x, y, x]),
  BatchMatMul: ({ x, y }) => [
    tf.matMul(x, tf.transpose(y, [0, 2, 1])),
    tf.matMul(x, y, true, false),
    tf.matMul(x, y, false, true),
    tf.matMul(x, first(y, [2, 1, 3]), true, true),
  ],
  Cast: ({ truth }) => [tf.cast(truth, 'float32'), tf.cast(tf.tensor1d([0, 2, 1], 'int32'), 'float32')],
  Concat: ({ x, y }) => tf.concat([x, y], 1),
  Cumsum: ({ x }) => [tf.cumsum(x, 2, true), tf.cumsum(x, 2, false, true)],
  Exp: ({ x }) => tf.exp(x),
  Fill: ({ x }) => tf.add(tf.fill([2, 1, 4], 3), x),
  GatherV2: ({ x }) => [tf.gather(x, [1, 0, 1], 1), tf.gather(first(x, [24]), tf.tensor2d([[3, 1]], [1, 2], 'int32'))],
  GreaterEqual: ({ x, y }) => [tf.greaterEqual(x, y), tf.greaterEqual(x, x)],
  Identity: ({ x }) => tf.clone(x),
  LessEqual: ({ x, y }) => [tf.lessEqual(x, y), tf.lessEqual(x, x)],
  LogSoftmax: ({ x }) => logSoftmax(tf.reshape(x, [6, 4])),
  Maximum: ({ x }) => tf.maximum(x, 0.5),
  Minimum: ({ x, y }) => tf.minimum(x, y),
  Multiply: ({ x, y }) => tf.mul(x, first(y, [2, 3, 1])),
  Neg: ({ x }) => tf.neg(x),
  OnesLike: ({ x, y }) => tf.add(tf.onesLike(x), y),
  PadV2: ({ x }) =>
    tf.pad(
      x,
      [
        [0, 0],
        [1, 2],
        [0, 1],
      ],
      7,
    ),
  RealDiv: ({ x, positive }) => tf.div(x, positive),
  Reshape: ({ x }) => tf.reshape(x, [4, -1]),
  ScatterNd: ({ x }) => tf.scatterND(tf.tensor2d([[2], [0], [2]], [3, 1], 'int32'), first(x, [3, 2]), [4, 2]),
  Sigmoid: ({ x }) => tf.sigmoid(x),
  Slice: ({ x }) => tf.slice(x, [0, 1, 2], [2, 2, -1]),
  Softplus: ({ x }) => tf.softplus(x),
  SplitV: ({ x }) => tf.split(x, [1, 3], 2),
  Sqrt: ({ positive }) => tf.sqrt(positive),
  Square: ({ x }) => tf.square(x),
  SquaredDifference: ({ x, y }) => tf.squaredDifference(x, first(y, [4])),
  Sub: ({ x }) => tf.sub(1, x),
  Sum: ({ x }) => [tf.sum(x, 1, true), tf.sum(x, [1, 2]), tf.sum(x), tf.sum(x, 2)],
  Tanh: ({ x }) => tf.tanh(x),
  Transpose: ({ x }) => tf.transpose(x, [2, 0, 1]),
  ZerosLike: ({ x, y }) => tf.add(tf.zerosLike(x), y),
};
