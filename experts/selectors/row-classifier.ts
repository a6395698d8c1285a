import { addLogits, certainTargets, fitSoftmax } from '../../src/regression/softmax-regression.ts';
import { type SparseMatrix, SparseMatrixBuilder } from '../../src/regression/sparse-matrix.ts';
import { softmaxInPlace } from '../../src/softmax.ts';

/** One probability for each class of a row of the features that it was fitted on. */
export type RowClassifier = (row: number) => Float64Array;

/** A row with its class; it counts `weight` times, once unless given. */
export interface RowExample {
  readonly row: number;
  readonly label: number;
  readonly weight?: number;
}

/**
 * L2-regularised softmax regression with C = 1 and balanced class weights, as scikit-learn's
 * `LogisticRegression(class_weight='balanced')` fits it (https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression).
 * A class without examples has probability 0; without any example all are alike.
 */
export async function fitRowClassifier(options: {
  features: SparseMatrix;
  classCount: number;
  examples: readonly RowExample[];
}): Promise<RowClassifier> {
  const { features, classCount, examples } = options;
  if (examples.length === 0) return () => new Float64Array(classCount).fill(1 / classCount);
  const totals = new Float64Array(classCount);
  for (const { label, weight = 1 } of examples) totals[label] += weight;
  const candidates = Array.from(totals, (total) => total > 0);
  const present = candidates.filter(Boolean).length;
  const all = totals.reduce((sum, total) => sum + total, 0);
  const weights = await fitSoftmax({
    features: rowsOf(features, examples),
    targets: certainTargets({ labels: examples.map(({ label }) => label), classCount }),
    rowWeights: Float64Array.from(examples, ({ label, weight = 1 }) => weight / (present * totals[label])),
    candidates,
    classCount,
    // The loss is a mean over the examples, so the penalty is one, too.
    l2: 1 / all,
    tolerance: 1e-3,
    maximumSteps: 100,
  });
  return (row) => {
    const logits = Float64Array.from(candidates, (isPresent) => (isPresent ? 0 : Number.NEGATIVE_INFINITY));
    addLogits(logits, { features, row, weights });
    softmaxInPlace(logits);
    return logits;
  };
}

function rowsOf({ columns, starts, indices, values }: SparseMatrix, examples: readonly RowExample[]): SparseMatrix {
  const builder = new SparseMatrixBuilder({ columns });
  for (const { row } of examples) {
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) builder.add(indices[entry], values[entry]);
    builder.endRow();
  }
  return builder.build();
}
