import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { selectBackend } from '../../../../src/tensor/backend.ts';
import { GraphBackend } from '../../../../src/tensor/graph/graph-backend.ts';
import { Random } from '../../../../src/tensor/random.ts';
import { kernelCases, kernelInputs } from './kernel-cases.ts';

const random = Random.seeded({ seed: 1, purpose: 'kernels' });
const numbers = (length: number) => Float32Array.from({ length }, () => 2 * random.normal());
const x = numbers(24);
const y = numbers(24);
const cube = (data: Float32Array): tf.Tensor3D => tf.tensor3d(data, [2, 3, 4]);
interface Computed {
  readonly shape: number[];
  readonly dtype: string;
  readonly values: number[];
}

async function computed(backend: 'cpu' | 'onnx', make: (typeof kernelCases)[string]): Promise<Computed[]> {
  await selectBackend(backend);
  return tf.tidy(() =>
    [make(kernelInputs({ x: cube(x), y: cube(y) }))]
      .flat()
      .map((tensor) => ({ shape: tensor.shape, dtype: tensor.dtype, values: Array.from(tensor.dataSync()) })),
  ) as never;
}

it.each(Object.entries(kernelCases))('%s computes what the cpu backend does', async (_, make) => {
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
  const registered = tf.getKernelsForBackend('graph').map(({ kernelName }) => kernelName);
  expect([...registered].sort()).toEqual(Object.keys(kernelCases).sort());
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
  if (!(backend instanceof GraphBackend)) throw new Error('the backend is another');
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
