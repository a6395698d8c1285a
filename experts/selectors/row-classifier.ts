import { fitKernelSoftmax, sparseProducts } from '../../src/regression/kernel-softmax.ts';
import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import { softmax } from '../../src/softmax.ts';

/** Returns a probability per class for a row of the features. */
export type RowClassifier = (row: number) => Float64Array;

/** A row with its class and its `weight`, 1 by default. Each row occurs once. */
export interface RowExample {
  readonly row: number;
  readonly label: number;
  readonly weight?: number;
}

/**
 * L2-regularised softmax regression with C = 1 and balanced class weights, like scikit-learn's
 * `LogisticRegression(class_weight='balanced')`
 * (https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression). A class without examples has
 * probability 0; without any example all are equal.
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
  const present = [...totals.keys()].filter((label) => totals[label] > 0);
  const rowWeights = new Float64Array(features.rows);
  const targets = new Float64Array(features.rows * present.length);
  for (const { row, label, weight = 1 } of examples) {
    rowWeights[row] = weight / (present.length * totals[label]);
    targets[row * present.length + present.indexOf(label)] = 1;
  }
  const { logits } = await fitKernelSoftmax({
    products: sparseProducts(features),
    ...{ targets, rowWeights, classCount: present.length },
    // The loss is a mean over the examples, so the penalty is one, too.
    l2: 1 / totals.reduce((sum, total) => sum + total, 0),
    tolerance: 1e-3,
    maximumSteps: 100,
  });
  return (row) => {
    const probabilities = new Float64Array(classCount);
    const shares = softmax(logits.subarray(row * present.length, (row + 1) * present.length));
    for (const [place, label] of present.entries()) probabilities[label] = shares[place];
    return probabilities;
  };
}
