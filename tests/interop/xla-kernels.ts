import * as tf from '@tensorflow/tfjs-core';
import { selectBackend } from '../../src/tensor/backend.ts';
import { compiled, together } from '../../src/tensor/graph/compiled.ts';
import { Random } from '../../src/tensor/random.ts';
import { kernelCases, kernelInputs } from '../src/tensor/graph/kernel-cases.ts';

/* Computes each kernel's case on cpu, and on xla for one run and for three at once, and prints how far they are apart. */

const random = Random.seeded({ seed: 1, purpose: 'kernels' });
const numbers = Array.from({ length: 3 }, () =>
  [0, 1].map(() => Float32Array.from({ length: 24 }, () => 2 * random.normal())),
);
type Pair = Record<'x' | 'y', tf.Tensor3D>;

/** A step returns what it computes, and some cases return what they were given. */
const results = (name: string) => (pair: Pair) =>
  [kernelCases[name](kernelInputs(pair))]
    .flat()
    .map((tensor) => (tensor.dtype === 'float32' ? tf.mul(tensor, 1) : tensor));

async function run(
  step: (pair: Pair) => Promise<tf.Tensor[]> | tf.Tensor[],
  [x, y]: Float32Array[],
): Promise<number[][]> {
  const pair = { x: tf.tensor3d(x, [2, 3, 4]), y: tf.tensor3d(y, [2, 3, 4]) };
  const tensors = await step(pair);
  const values = tensors.map((tensor) => Array.from(tensor.dataSync()));
  tf.dispose([pair, tensors]);
  return values;
}

function apart(some: number[][], others: number[][]): number {
  return Math.max(
    ...some.flat().map((value, place) => Math.abs(value - others.flat()[place]) / Math.max(1, Math.abs(value))),
  );
}

const differences: Record<string, { alone: number; together: number }> = {};
const expected: Record<string, number[][][]> = {};
await selectBackend('cpu');
for (const name of Object.keys(kernelCases)) {
  expected[name] = [];
  for (const pair of numbers) expected[name].push(await run((given) => tf.tidy(() => results(name)(given)), pair));
}
await selectBackend('xla');
for (const name of Object.keys(kernelCases)) {
  const step = compiled(results(name));
  const alone = apart(expected[name][0], await run(step, numbers[0]));
  const all = await together(numbers.map((pair) => () => run(step, pair)));
  const each = all.map((result, index) => {
    if (result.status === 'rejected') throw result.reason;
    return apart(expected[name][index], result.value);
  });
  differences[name] = { alone, together: Math.max(...each) };
}
console.log(JSON.stringify(differences));
