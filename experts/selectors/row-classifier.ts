import { fitLabels } from '../../src/regression/label-classifier.ts';
import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import { softmaxInPlace } from '../../src/softmax.ts';

/** Returns a probability per class for a row of the features. */
export type RowClassifier = (row: number) => Float64Array;

/** A row with its class and its `weight`, 1 by default. Each row occurs once. */
export interface RowExample {
  readonly row: number;
  readonly label: number;
  readonly weight?: number;
}

/** A regression with balanced classes. A class without examples has probability 0; without any example all are equal. */
export async function fitRowClassifier(options: {
  features: SparseMatrix;
  classCount: number;
  examples: readonly RowExample[];
}): Promise<RowClassifier> {
  const { features, classCount, examples } = options;
  if (examples.length === 0) return () => new Float64Array(classCount).fill(1 / classCount);
  const labels = new Int32Array(features.rows);
  const rowWeights = new Float64Array(features.rows);
  for (const { row, label, weight = 1 } of examples) {
    labels[row] = label;
    rowWeights[row] = weight;
  }
  const { logits } = await fitLabels({ features, labels, rowWeights, classWeights: 'balanced', classCount, l2: 1 });
  return (row) => {
    const probabilities = logits.slice(row * classCount, (row + 1) * classCount);
    softmaxInPlace(probabilities);
    return probabilities;
  };
}
