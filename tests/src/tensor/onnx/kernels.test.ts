import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { selectBackend } from '../../../../src/tensor/backend.ts';
import { OnnxBackend } from '../../../../src/tensor/onnx/backend.ts';
import { logSoftmax } from '../../../../src/tensor/operations.ts';
import { Random } from '../../../../src/tensor/random.ts';

const random = Random.seeded({ seed: 1, purpose: 'kernels' });
const numbers = (length: number) => Float32Array.from({ length }, () => 2 * random.normal());
const x = numbers(24);
const y = numbers(24);
const cube = (data: Float32Array): tf.Tensor3D => tf.tensor3d(data, [2, 3, 4]);
const positive = () => tf.add(tf.square(cube(x)), 0.1);
const truth = () => tf.greater(cube(x), 0);

/** By the name of the kernel, as ONNX files are made of them: one case each, where it matters with broadcasting. */
const cases: Record<string, () => tf.Tensor | tf.Tensor[]> = {
  Abs: () => tf.abs(cube(x)),
  Add: () => tf.add(cube(x), tf.tensor1d(y.subarray(0, 4))),
  AddN: () => tf.addN([cube(x), cube(y), cube(x)]),
  BatchMatMul: () => [
    tf.matMul(cube(x), tf.transpose(cube(y), [0, 2, 1])),
    tf.matMul(cube(x), cube(y), true, false),
    tf.matMul(cube(x), cube(y), false, true),
    tf.matMul(cube(x), tf.tensor3d(y.subarray(0, 6), [2, 1, 3]), true, true),
  ],
  Cast: () => [tf.cast(truth(), 'float32'), tf.cast(tf.tensor1d([0, 2, 1], 'int32'), 'float32')],
  Concat: () => tf.concat([cube(x), cube(y)], 1),
  Cumsum: () => [tf.cumsum(cube(x), 2, true), tf.cumsum(cube(x), 2, false, true)],
  Equal: () => tf.equal(tf.round(cube(x)), tf.round(cube(y))),
  Exp: () => tf.exp(cube(x)),
  ExpandDims: () => tf.expandDims(cube(x), -1),
  Fill: () => tf.add(tf.fill([2, 1, 4], 3), cube(x)),
  GatherV2: () => [tf.gather(cube(x), [1, 0, 1], 1), tf.gather(tf.tensor1d(x), tf.tensor2d([[3, 1]], [1, 2], 'int32'))],
  Greater: () => tf.greater(cube(x), cube(y)),
  GreaterEqual: () => tf.greaterEqual(cube(x), cube(x)),
  Identity: () => tf.clone(cube(x)),
  Less: () => tf.less(cube(x), cube(y)),
  LessEqual: () => tf.lessEqual(cube(x), cube(x)),
  Log: () => tf.log(positive()),
  LogSoftmax: () => logSoftmax(tf.reshape(cube(x), [6, 4])),
  LogicalAnd: () => tf.logicalAnd(truth(), tf.less(cube(y), 1)),
  LogicalNot: () => tf.logicalNot(truth()),
  LogicalOr: () => tf.logicalOr(truth(), tf.less(cube(y), 1)),
  Max: () => [tf.max(cube(x), 2, true), tf.max(cube(x))],
  Maximum: () => tf.maximum(cube(x), 0.5),
  Mean: () => [tf.mean(cube(x), 1), tf.mean(cube(x))],
  Min: () => tf.min(cube(x), [0, 2]),
  Minimum: () => tf.minimum(cube(x), cube(y)),
  Multiply: () => tf.mul(cube(x), tf.tensor3d(y.subarray(0, 6), [2, 3, 1])),
  Neg: () => tf.neg(cube(x)),
  OnesLike: () => tf.add(tf.onesLike(cube(x)), cube(y)),
  PadV2: () =>
    tf.pad(
      cube(x),
      [
        [0, 0],
        [1, 2],
        [0, 1],
      ],
      7,
    ),
  Pow: () => tf.pow(positive(), 1.5),
  RealDiv: () => tf.div(cube(x), positive()),
  Relu: () => tf.relu(cube(x)),
  Reshape: () => tf.reshape(cube(x), [4, -1]),
  Round: () => tf.round(cube(x)),
  ScatterNd: () =>
    tf.scatterND(tf.tensor2d([[2], [0], [2]], [3, 1], 'int32'), tf.tensor2d(x.slice(0, 6), [3, 2]), [4, 2]),
  Select: () => tf.where(truth(), cube(x), cube(y)),
  Sigmoid: () => tf.sigmoid(cube(x)),
  Sign: () => tf.sign(cube(x)),
  Slice: () => tf.slice(cube(x), [0, 1, 2], [2, 2, -1]),
  Softmax: () => tf.softmax(cube(x)),
  Softplus: () => tf.softplus(cube(x)),
  SplitV: () => tf.split(cube(x), [1, 3], 2),
  Sqrt: () => tf.sqrt(positive()),
  Square: () => tf.square(cube(x)),
  SquaredDifference: () => tf.squaredDifference(cube(x), tf.tensor1d(y.subarray(0, 4))),
  Sub: () => tf.sub(1, cube(x)),
  Sum: () => [tf.sum(cube(x), 1, true), tf.sum(cube(x), [1, 2]), tf.sum(cube(x))],
  Tanh: () => tf.tanh(cube(x)),
  Tile: () => tf.tile(cube(x), [1, 2, 1]),
  Transpose: () => tf.transpose(cube(x), [2, 0, 1]),
  ZerosLike: () => tf.add(tf.zerosLike(cube(x)), cube(y)),
};

interface Computed {
  readonly shape: number[];
  readonly dtype: string;
  readonly values: number[];
}

async function computed(backend: 'cpu' | 'onnx', make: () => tf.Tensor | tf.Tensor[]): Promise<Computed[]> {
  await selectBackend(backend);
  return tf.tidy(() =>
    [make()]
      .flat()
      .map((tensor) => ({ shape: tensor.shape, dtype: tensor.dtype, values: Array.from(tensor.dataSync()) })),
  ) as never;
}

it.each(Object.entries(cases))('%s computes what the cpu backend does', async (_, make) => {
  const expected = await computed('cpu', make);
  const before = tf.memory().numTensors;
  const found = await computed('onnx', make);
  expect(tf.memory().numTensors).toBe(before);
  for (const [index, { shape, dtype, values }] of expected.entries()) {
    expect(found[index].shape).toEqual(shape);
    expect(found[index].dtype).toBe(dtype);
    for (const [place, value] of values.entries()) expect(found[index].values[place]).toBeCloseTo(value, 4);
  }
});

it('has a case for each kernel that it registers', async () => {
  await selectBackend('onnx');
  const registered = tf.getKernelsForBackend('onnx').map(({ kernelName }) => kernelName);
  expect([...registered].sort()).toEqual(Object.keys(cases).sort());
});

it('keeps tensors that come from another backend, and gives its own to others', async () => {
  await selectBackend('cpu');
  const there = tf.tensor1d([1, 2, 3]);
  await selectBackend('onnx');
  const here = tf.mul(there, 2);
  await selectBackend('cpu');
  const back = tf.add(here, 1);
  expect([...back.dataSync()]).toEqual([3, 5, 7]);
  tf.dispose([there, here, back]);
});

it('runs a graph that has become long, and keeps a bounded number of sessions', async () => {
  await selectBackend('onnx');
  const backend = tf.backend();
  if (!(backend instanceof OnnxBackend)) throw new Error('the backend is another');
  let sum: tf.Tensor = tf.zeros([2]);
  for (let step = 0; step < 2500; step++) {
    const next = tf.add(sum, 1);
    sum.dispose();
    sum = next;
  }
  expect([...sum.dataSync()]).toEqual([2500, 2500]);
  sum.dispose();
  for (let length = 1; length < 100; length++) {
    const own = tf.neg(tf.ones([length]));
    own.dataSync();
    own.dispose();
  }
  expect(backend.sessionCount).toBeLessThanOrEqual(32);
});
