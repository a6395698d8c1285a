import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import '../../../src/tensor/gradients.ts';
import {
  matMul,
  normsOfImages,
  rowProducts,
  sliceColumns,
  sumColumns,
  sumRows,
  tanh,
  tanhDerivative,
  weightedSum,
} from '../../../src/tensor/operations.ts';
import { Random } from '../../../src/tensor/random.ts';
import { testBackends } from './test-backend.ts';

type Rows = number[][];

const random = Random.seeded({ seed: 1, purpose: 'operations' });
const draw = (rows: number, columns: number): Rows =>
  Array.from({ length: rows }, () => Array.from({ length: columns }, () => random.normal()));

function expectClose(actual: tf.Tensor2D, expected: Rows): void {
  expect(actual.shape).toEqual([expected.length, expected[0].length]);
  const flat = expected.flat();
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

  const left = draw(4, 5);
  const right = draw(5, 2);

  it('matMul multiplies, and transposes either factor first where asked', () => {
    const [x, y] = [tf.tensor2d(left), tf.tensor2d(right)];
    const product = left.map((row) =>
      [0, 1].map((column) => row.reduce((sum, value, k) => sum + value * right[k][column], 0)),
    );
    expectClose(matMul(x, y), product);
    expectClose(matMul(tf.transpose(x), tf.transpose(y), { transposeLeft: true, transposeRight: true }), product);
  });

  it('normsOfImages is |Wv| of each row, with the gradients of the product that it stands for', () => {
    const v = tf.tensor2d(left);
    const matrices = [7, 1].map((rows) => tf.mul<tf.Tensor2D>(tf.tensor2d(draw(rows, 5)), 0.2));
    const weights = tf.tensor2d(draw(4, 1));
    const image = (v: tf.Tensor2D, own: tf.Tensor2D) => matMul(v, own, { transposeRight: true });
    const squareOf = (x: tf.Tensor2D) => rowProducts(x, x);
    const squares = (v: tf.Tensor2D, [first, second]: readonly tf.Tensor2D[]) =>
      tf.add<tf.Tensor2D>(squareOf(image(v, first)), squareOf(image(v, second)));
    const norms = tf.sqrt(squares(v, matrices));
    expectClose(normsOfImages(v, matrices), norms.arraySync());
    const gradients = (of: typeof squares, weights: tf.Tensor) =>
      tf.grads((v, ...given) => tf.mul(of(v as tf.Tensor2D, given as tf.Tensor2D[]), weights))([v, ...matrices]);
    // The gradient of a norm is that of its square over twice the norm.
    const expected = gradients(squares, tf.div(weights, tf.mul(norms, 2)));
    for (const [index, own] of gradients(normsOfImages, weights).entries())
      expectClose(own as tf.Tensor2D, (expected[index] as tf.Tensor2D).arraySync());
  });

  it('sums run over rows, columns or squares, and keep both axes', () => {
    const x = tf.tensor2d(left);
    expectClose(sumRows(x), [left[0].map((_, column) => left.reduce((sum, row) => sum + row[column], 0))]);
    const ofRow = (row: readonly number[]) => row.reduce((sum, value) => sum + value, 0);
    expectClose(
      sumColumns(x),
      left.map((row) => [ofRow(row)]),
    );
  });

  it('rowProducts and weightedSum have the gradients of the sums that they stand for', () => {
    const [a, b, weights] = [tf.tensor2d(left), tf.tensor2d(draw(4, 5)), tf.tensor2d(draw(4, 1))];
    const products = sumColumns(tf.mul(a, b));
    expectClose(rowProducts(a, b), products.arraySync());
    expectClose(weightedSum(products, weights), sumRows(tf.mul(products, weights)).arraySync());
    const [ofA, ofB] = tf.grads((a, b) => weightedSum(rowProducts(a as tf.Tensor2D, b as tf.Tensor2D), weights))([
      a,
      b,
    ]);
    expectClose(ofA as tf.Tensor2D, tf.mul<tf.Tensor2D>(b, weights).arraySync());
    expectClose(ofB as tf.Tensor2D, tf.mul<tf.Tensor2D>(a, weights).arraySync());
  });

  it('a split passes the gradients of its parts back, and nothing for a part that nobody reads', () => {
    const x = tf.tensor2d(left);
    const read = (places: readonly number[]) =>
      tf.grad((x) => {
        const parts = tf.split(x as tf.Tensor2D, [2, 3], 1);
        return places.map((place) => tf.sum(tf.mul(parts[place], place + 2))).reduce((sum, part) => tf.add(sum, part));
      })(x) as tf.Tensor2D;
    expectClose(
      read([0, 1]),
      left.map(() => [2, 2, 3, 3, 3]),
    );
    expectClose(
      read([1]),
      left.map(() => [0, 0, 3, 3, 3]),
    );
  });

  it('slices take columns', () => {
    expectClose(
      sliceColumns(tf.tensor2d(left), 2, 3),
      left.map((row) => row.slice(2)),
    );
  });

  it('tanh and its derivative hold from the middle to the tails', () => {
    const inputs = [-50, -3, -0.5, -1e-3, 0, 1e-3, 0.5, 3, 50];
    const outputs = tanh(tf.tensor2d([inputs]));
    expectClose(outputs, [inputs.map(Math.tanh)]);
    expectClose(tanhDerivative(outputs), [inputs.map((x) => 1 - Math.tanh(x) ** 2)]);
  });

  it('leaves nothing behind but its result', () => {
    const [x, y] = [tf.tensor2d(left), tf.tensor2d(right)];
    const count = tf.memory().numTensors;
    const results = [matMul(x, y), tanh(x), tanhDerivative(x), sumRows(x)];
    expect(tf.memory().numTensors).toBe(count + results.length);
    tf.dispose([x, y, results]);
  });
});
