import { expect, it } from 'vitest';
import { minimize } from '../../../src/regression/minimize.ts';
import {
  cachedProducts,
  certainTargets,
  combinedRows,
  fitSoftmax,
  innerProducts,
  sparseProducts,
} from '../../../src/regression/softmax-regression.ts';
import { type SparseMatrix, SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';

function sparse(rows: readonly ArrayLike<number>[]): SparseMatrix {
  const builder = new SparseMatrixBuilder({ columns: rows[0].length });
  for (const row of rows) {
    for (let index = 0; index < row.length; index++) builder.add(index, row[index]);
    builder.endRow();
  }
  return builder.build();
}

const [rows, columns, classCount] = [30, 80, 3];
const random = Random.seeded({ seed: 5, purpose: 'test' });
const dense = Array.from({ length: rows }, () =>
  Float32Array.from({ length: columns }, () => (random.uniform() < 0.2 ? random.uniform() - 0.3 : 0)),
);
const features = sparse(dense);
const targets = certainTargets({ labels: dense.map(() => random.integer(classCount)), classCount });
// Every fifth row is left out, and the others do not weigh the same.
const raw = Float64Array.from(dense, (_, row) => (row % 5 === 0 ? 0 : 1 + (row % 3)));
const total = raw.reduce((sum, weight) => sum + weight, 0);
const rowWeights = raw.map((weight) => weight / total);
const settings = { targets, rowWeights, classCount, l2: 0.01, tolerance: 1e-14, maximumSteps: 500 };

/** The loss of a weight for each column and class, and its gradient, both written down as the formula is. */
function lossOf(weights: Float64Array, gradient: Float64Array, baseLogits: Float64Array): number {
  let loss = 0;
  for (const [index, weight] of weights.entries()) {
    loss += (settings.l2 / 2) * weight ** 2;
    gradient[index] = settings.l2 * weight;
  }
  for (const [row, values] of dense.entries()) {
    const logits = logitsOf(weights, values).map((logit, label) => logit + baseLogits[row * classCount + label]);
    const sum = logits.reduce((exponentials, logit) => exponentials + Math.exp(logit), 0);
    for (const [label, logit] of logits.entries()) {
      const target = targets[row * classCount + label];
      if (target > 0) loss += rowWeights[row] * target * (Math.log(sum) - logit);
      const slope = rowWeights[row] * (Math.exp(logit) / sum - target);
      for (const [column, value] of values.entries()) gradient[column * classCount + label] += slope * value;
    }
  }
  return loss;
}

function logitsOf(weights: Float64Array, values: Float32Array): number[] {
  return Array.from({ length: classCount }, (_, label) =>
    values.reduce((sum, value, column) => sum + value * weights[column * classCount + label], 0),
  );
}

it('compares with a loss whose gradient is that of finite differences', () => {
  const baseLogits = new Float64Array(rows * classCount).map((_, index) => Math.sin(index));
  const weights = new Float64Array(columns * classCount).map((_, index) => Math.cos(index));
  const [gradient, scratch] = [weights.slice(), weights.slice()];
  lossOf(weights, gradient, baseLogits);
  for (const index of [0, 1, 100, 239]) {
    const at = (shift: number) => lossOf(weights.with(index, weights[index] + shift), scratch, baseLogits);
    expect(gradient[index]).toBeCloseTo((at(1e-5) - at(-1e-5)) / 2e-5, 8);
  }
});

it('holds the inner products of all rows', async () => {
  const products = await innerProducts(features);
  for (const [place, row] of dense.entries())
    for (const [other, column] of dense.entries()) {
      const expected = row.reduce((sum, value, index) => sum + value * column[index], 0);
      expect(products[place * rows + other]).toBeCloseTo(expected, 12);
    }
});

const noLogits = new Float64Array(rows * classCount);
const someLogits = noLogits.map((_, index) => Math.sin(index));
it.each([
  ['inner products', cachedProducts, noLogits],
  ['sparse rows', sparseProducts, noLogits],
  ['inner products on base logits', cachedProducts, someLogits],
  ['sparse rows on base logits', sparseProducts, someLogits],
])('finds by %s the weights at the minimum, and the logits of rows left out', async (_, productsOf, baseLogits) => {
  const products = await productsOf(features);
  const { coefficients, logits } = await fitSoftmax({ ...settings, products, baseLogits });
  const { point } = await minimize({
    start: new Float64Array(columns * classCount),
    lossAt: (weights, gradient) => lossOf(weights, gradient, baseLogits),
    convexity: settings.l2,
    ...settings,
  });
  const weights = combinedRows({ features, coefficients, classCount });
  for (const [index, weight] of point.entries()) expect(weights[index]).toBeCloseTo(weight, 6);
  for (const [row, values] of dense.entries())
    for (const [label, expected] of logitsOf(point, values).entries())
      expect(logits[row * classCount + label]).toBeCloseTo(expected, 6);
});

it('leaves a class alone whose base logits are −∞', async () => {
  const two = { ...settings, targets: certainTargets({ labels: dense.map((_, row) => row % 2), classCount }) };
  const baseLogits = noLogits.map((_, index) => (index % classCount === 2 ? -Infinity : 0));
  const { logits } = await fitSoftmax({ ...two, products: sparseProducts(features), baseLogits });
  const ofTwo = { ...settings, classCount: 2 };
  const alone = await fitSoftmax({
    ...ofTwo,
    targets: certainTargets({ labels: dense.map((_, row) => row % 2), classCount: 2 }),
    products: sparseProducts(features),
  });
  for (let row = 0; row < rows; row++) {
    expect(logits[row * classCount + 2]).toBeCloseTo(0, 12);
    for (const label of [0, 1]) expect(logits[row * classCount + label]).toBeCloseTo(alone.logits[row * 2 + label], 9);
  }
});

it('finds the weights that can be had by hand', async () => {
  // Three of four rows are of class 0. With weights (w, −w): σ(2w) − 3/4 + l2 · w = 0, so w = 1/4 has this l2.
  const ones = sparse([[1], [1], [1], [1]]);
  const { coefficients } = await fitSoftmax({
    ...settings,
    products: sparseProducts(ones),
    targets: certainTargets({ labels: [0, 0, 0, 1], classCount: 2 }),
    rowWeights: new Float64Array(4).fill(1 / 4),
    classCount: 2,
    l2: 4 * (3 / 4 - 1 / (1 + Math.exp(-0.5))),
  });
  const weights = combinedRows({ features: ones, coefficients, classCount: 2 });
  expect(weights[0]).toBeCloseTo(0.25, 6);
  expect(weights[1]).toBeCloseTo(-0.25, 6);
});

it('stops when told to', async () => {
  const signal = AbortSignal.abort(new Error('interrupted by the user'));
  const products = sparseProducts(features);
  await expect(fitSoftmax({ ...settings, products, signal })).rejects.toThrow('interrupted by the user');
});
