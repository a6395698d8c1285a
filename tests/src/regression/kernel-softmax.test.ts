import { expect, it } from 'vitest';
import {
  cachedProducts,
  combinedRows,
  fitKernelSoftmax,
  innerProducts,
  sparseProducts,
} from '../../../src/regression/kernel-softmax.ts';
import { certainTargets, minimize, softmaxLoss } from '../../../src/regression/softmax-regression.ts';
import { SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';

const [rows, columns, classCount] = [30, 80, 3];
const random = Random.seeded({ seed: 5, purpose: 'test' });
const dense = Array.from({ length: rows }, () =>
  Float32Array.from({ length: columns }, () => (random.uniform() < 0.2 ? random.uniform() - 0.3 : 0)),
);
const builder = new SparseMatrixBuilder({ columns });
for (const row of dense) {
  for (const [index, value] of row.entries()) builder.add(index, value);
  builder.endRow();
}
const features = builder.build();
const targets = certainTargets({ labels: dense.map(() => random.integer(classCount)), classCount });
// Every fifth row is left out, and the others do not weigh the same.
const raw = Float64Array.from(dense, (_, row) => (row % 5 === 0 ? 0 : 1 + (row % 3)));
const total = raw.reduce((sum, weight) => sum + weight, 0);
const rowWeights = raw.map((weight) => weight / total);
const settings = { targets, rowWeights, classCount, l2: 0.01, tolerance: 1e-14, maximumSteps: 500 };

it('holds the inner products of all rows', async () => {
  const products = await innerProducts(features);
  for (const [place, row] of dense.entries())
    for (const [other, column] of dense.entries()) {
      const expected = row.reduce((sum, value, index) => sum + value * column[index], 0);
      expect(products[place * rows + other]).toBeCloseTo(expected, 12);
    }
});

it.each([
  ['inner products', cachedProducts],
  ['sparse rows', sparseProducts],
])(
  'finds by %s the regression that is found with all columns, and its logits of rows left out',
  async (_, productsOf) => {
    const { coefficients, logits } = await fitKernelSoftmax({ ...settings, products: await productsOf(features) });
    const prior = new Float64Array(columns * classCount);
    const problem = { features, ...settings, candidates: [true, true, true], prior };
    const { point } = await minimize({
      start: prior,
      lossAt: (weights, gradient) => softmaxLoss({ problem, weights, gradient }),
      convexity: settings.l2,
      ...settings,
    });
    const weights = combinedRows({ features, coefficients, classCount });
    for (const [index, weight] of point.entries()) expect(weights[index]).toBeCloseTo(weight, 6);
    for (const [row, values] of dense.entries())
      for (let label = 0; label < classCount; label++) {
        const expected = values.reduce((sum, value, column) => sum + value * point[column * classCount + label], 0);
        expect(logits[row * classCount + label]).toBeCloseTo(expected, 6);
      }
  },
);

it('stops when told to', async () => {
  const signal = AbortSignal.abort(new Error('interrupted by the user'));
  const products = sparseProducts(features);
  await expect(fitKernelSoftmax({ ...settings, products, signal })).rejects.toThrow('interrupted by the user');
});
