import { expect, it } from 'vitest';
import { fitLabels } from '../../../src/regression/label-classifier.ts';
import { SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';

/** Rows of a constant alone, so that the likeliest regression gives the shares of the classes. */
function constants(count: number) {
  const builder = new SparseMatrixBuilder({ columns: 1 });
  for (let row = 0; row < count; row++) {
    builder.add(0, 1);
    builder.endRow();
  }
  return builder.build();
}

const features = constants(10);
const labels = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1];
const all = { features, labels, rowWeights: new Float64Array(10).fill(1), classCount: 3, l2: 1e-3 };
const odds = (of: ArrayLike<number>) => Math.exp(of[0] - of[1]);

it.each([
  ['none', 4],
  ['root', 2],
  ['balanced', 1],
] as const)('weighs classes: %s', async (classWeights, expected) => {
  const { logits, weights } = await fitLabels({ ...all, classWeights });
  expect(odds(logits)).toBeCloseTo(expected, 1);
  expect(odds(weights())).toBeCloseTo(expected, 1);
  // Nothing was learnt of class 2.
  expect(logits[2]).toBe(-Infinity);
});

it('counts a row as often as its weight says', async () => {
  const rowWeights = all.rowWeights.map((_, row) => [0, 0, 0, 0, 0, 0, 1, 3, 1, 1][row]);
  expect(odds((await fitLabels({ ...all, rowWeights, classWeights: 'none' })).logits)).toBeCloseTo(2, 1);
});

it('stays at the prior with a strong penalty, and leaves it with a weak one', async () => {
  const prior = Float64Array.of(1, 3, 2);
  const fitted = (l2: number, classes?: number[]) => fitLabels({ ...all, l2, prior, classes, classWeights: 'none' });
  for (const [label, weight] of (await fitted(1e6)).weights().entries()) expect(weight).toBeCloseTo(prior[label], 3);
  expect(odds((await fitted(1e-3)).weights())).toBeCloseTo(4, 1);
  // A class without rows is unlearnt only if it takes part.
  expect((await fitted(1e-3)).weights()[2]).toBe(2);
  expect((await fitted(1e-3, [0, 1, 2])).weights()[2]).toBeLessThan(0);
});

it('leaves out the only row of a class', async () => {
  const only = { ...all, labels: [...labels.slice(0, 9), 2] };
  const rowWeights = all.rowWeights.map((weight, row) => (row === 9 ? 0 : weight));
  const { logits } = await fitLabels({ ...only, rowWeights, classes: [0, 1, 2], classWeights: 'root' });
  expect(odds(logits)).toBeCloseTo(Math.sqrt(8), 1);
});
