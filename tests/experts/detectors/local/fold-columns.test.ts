import { expect, it } from 'vitest';
import { columnsOfFolds, logitsOfNewThreads } from '../../../../experts/detectors/local/fold-columns.ts';
import { SparseMatrixBuilder } from '../../../../src/regression/sparse-matrix.ts';

/** Two n-grams of the claim, two dimensions of its embedding, and the constant. */
const blocks = [
  { part: 'claim', kind: 'words', from: 0, columns: 2 },
  { part: 'claim', kind: 'embedding', from: 2, columns: 2 },
] as const;
const rows = [
  // Of length 5, of which 3 is known elsewhere. The second dimension is 0 in the other fold.
  [3, 4, 6, 8, 1],
  [5, 0, 10, 0, 1],
];
const into = new SparseMatrixBuilder({ columns: 5 });
for (const row of rows) {
  for (const [column, value] of row.entries()) if (value !== 0) into.add(column, value);
  into.endRow();
}
const ofFolds = { features: into.build(), blocks, foldOfRow: Int32Array.of(0, 1), folds: 2 };

it('knows of each fold the columns of the others, and every dimension of an encoder', () => {
  expect(columnsOfFolds(ofFolds).map((seen) => [...seen])).toEqual([
    [1, 0, 1, 1, 1],
    [1, 1, 1, 1, 1],
  ]);
});

it('judges a row by the n-grams that other folds have, at the length of all', () => {
  const weights = Float64Array.of(0, 1, 0, 0, 0, 0.1, 0, 0.2, 0, 7);
  const logits = logitsOfNewThreads({
    ...ofFolds,
    columnsOfFold: columnsOfFolds(ofFolds),
    weightsOfFold: [weights, weights],
    classCount: 2,
  });
  // The known n-gram gets the whole length of 5; the embedding stays as it is.
  expect([...logits]).toEqual([0, 5 + 0.6 + 1.6 + 7, 0, 5 + 1 + 7].map((value) => expect.closeTo(value, 10)));
});

it('leaves out characters that weigh nothing', () => {
  const features = { ...ofFolds.features, values: Float32Array.of(0, 0, 6, 8, 1, 0, 10, 1) };
  const logits = logitsOfNewThreads({
    ...ofFolds,
    features,
    columnsOfFold: columnsOfFolds({ ...ofFolds, features }),
    weightsOfFold: [new Float64Array(10), new Float64Array(10)],
    classCount: 2,
  });
  expect([...logits]).toEqual([0, 0, 0, 0]);
});
