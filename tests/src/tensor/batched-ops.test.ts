import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import '../../../src/tensor/gradients.ts';
import {
  matMul,
  perMember,
  sliceRows,
  squaredNormsOfImages,
  sumRows,
  tanh,
  tanhDerivative,
  transpose,
} from '../../../src/tensor/batched-ops.ts';
import { Random } from '../../../src/tensor/random.ts';
import { testBackends } from './test-backend.ts';

type Nested = number[][][];

const random = Random.seeded({ seed: 1, purpose: 'batched operations' });
const draw = (members: number, rows: number, columns: number): Nested =>
  Array.from({ length: members }, () =>
    Array.from({ length: rows }, () => Array.from({ length: columns }, () => random.normal())),
  );

function expectClose(actual: tf.Tensor3D, expected: Nested): void {
  expect(actual.shape).toEqual([expected.length, expected[0].length, expected[0][0].length]);
  const flat = expected.flat(2);
  for (const [i, value] of actual.dataSync().entries()) expect(value).toBeCloseTo(flat[i], 5);
}

describe.each(testBackends)('on %s', (backend) => {
  let before = 0;
  beforeAll(async () => {
    await selectBackend(backend);
    before = tf.memory().numTensors;
    tf.engine().startScope();
  });
  afterAll(() => {
    tf.engine().endScope();
    expect(tf.memory().numTensors).toBe(before);
  });

  describe.each([1, 3])('with %i members', (members) => {
    const left = draw(members, 4, 5);
    const right = draw(members, 5, 2);

    it('matMul multiplies member by member', () => {
      const product = left.map((rows, member) =>
        rows.map((row) =>
          [0, 1].map((column) => row.reduce((sum, value, k) => sum + value * right[member][k][column], 0)),
        ),
      );
      expectClose(matMul(tf.tensor3d(left), tf.tensor3d(right)), product);
    });

    it('matMul transposes either factor first, where asked', () => {
      const [x, y] = [tf.tensor3d(left), tf.tensor3d(right)];
      const product = [...matMul(x, y).dataSync()];
      const transposed = matMul(transpose(x), transpose(y), { transposeLeft: true, transposeRight: true });
      expect(transposed.shape).toEqual([members, 4, 2]);
      for (const [i, value] of transposed.dataSync().entries()) expect(value).toBeCloseTo(product[i], 5);
    });

    it('squaredNormsOfImages is |Wv|² of each row, with the gradients of the product that it stands for', () => {
      const v = tf.tensor3d(left);
      const matrices = [7, 1].map((rows) => tf.mul<tf.Tensor3D>(tf.tensor3d(draw(members, rows, 5)), 0.2));
      const weights = tf.tensor3d(draw(members, 4, 1));
      const image = (v: tf.Tensor3D, own: tf.Tensor3D) => matMul(v, own, { transposeRight: true });
      const written = (v: tf.Tensor3D, [first, second]: readonly tf.Tensor3D[]) =>
        tf.add<tf.Tensor3D>(tf.sum(tf.square(image(v, first)), 2, true), tf.sum(tf.square(image(v, second)), 2, true));
      expectClose(squaredNormsOfImages(v, matrices), written(v, matrices).arraySync());
      const gradients = (of: typeof written) =>
        tf.grads((v, ...given) => tf.mul(of(v as tf.Tensor3D, given as tf.Tensor3D[]), weights))([v, ...matrices]);
      const expected = gradients(written);
      for (const [index, own] of gradients(squaredNormsOfImages).entries())
        expectClose(own as tf.Tensor3D, (expected[index] as tf.Tensor3D).arraySync());
    });

    it('transpose swaps rows and columns of each member', () => {
      const swapped = left.map((rows) => rows[0].map((_, column) => rows.map((row) => row[column])));
      expectClose(transpose(tf.tensor3d(left)), swapped);
    });

    it('sumRows sums over rows and keeps the axis', () => {
      const sums = left.map((rows) => [rows[0].map((_, column) => rows.reduce((sum, row) => sum + row[column], 0))]);
      expectClose(sumRows(tf.tensor3d(left)), sums);
    });

    it('sliceRows takes the same rows of every member', () => {
      expectClose(
        sliceRows(tf.tensor3d(left), 1, 2),
        left.map((rows) => rows.slice(1, 3)),
      );
    });

    it('perMember broadcasts over rows and columns', () => {
      const factors = Array.from({ length: members }, (_, member) => 10 ** member);
      const scaled = left.map((rows, member) => rows.map((row) => row.map((value) => value * factors[member])));
      const product = tf.mul(tf.tensor3d(left), perMember(factors));
      expectClose(tf.div(product, perMember(factors)) as tf.Tensor3D, left);
      expect(perMember(factors).shape).toEqual([members, 1, 1]);
      for (const [i, value] of product.dataSync().entries()) expect(value / scaled.flat(2)[i]).toBeCloseTo(1, 5);
    });

    it('tanh and its derivative hold from the middle to the tails', () => {
      const inputs = Array.from({ length: members }, () => [[-50, -3, -0.5, -1e-3, 0, 1e-3, 0.5, 3, 50]]);
      const map = (f: (x: number) => number) => inputs.map((rows) => rows.map((row) => row.map(f)));
      const outputs = tanh(tf.tensor3d(inputs));
      expectClose(outputs, map(Math.tanh));
      expectClose(
        tanhDerivative(outputs),
        map((x) => 1 - Math.tanh(x) ** 2),
      );
    });
  });

  it('leaves nothing behind but its result', () => {
    const [left, right] = [tf.tensor3d(draw(3, 4, 5)), tf.tensor3d(draw(3, 5, 2))];
    const count = tf.memory().numTensors;
    const results = [matMul(left, right), transpose(left), tanh(left), tanhDerivative(left), sumRows(left)];
    expect(tf.memory().numTensors).toBe(count + results.length);
    tf.dispose([left, right, results]);
  });
});
