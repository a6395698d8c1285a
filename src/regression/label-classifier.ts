import { type FittedRows, softmaxFitter } from './softmax-fitter.ts';
import { certainTargets } from './softmax-regression.ts';
import type { SparseMatrix } from './sparse-matrix.ts';

const powers = { none: 0, root: 0.5, balanced: 1 };

/**
 * Fits a softmax regression to labelled rows, like scikit-learn's `LogisticRegression` with C = 1 / l2
 * (https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression). It can start from pretrained weights.
 * @param options.labels class of each row
 * @param options.rowWeights how often each row counts; 0 leaves it out
 * @param options.classWeights multiplies rows by 1, by 1/√ or by 1/ the count of their class
 * @param options.l2 penalty of the distance from the prior, relative to the summed loss
 * @param options.prior weights [columns, classes]; 0 by default
 * @param options.classes classes that are fitted, by default those of the rows; another one keeps its prior weights and
 *   has a logit of −∞
 */
export async function fitLabels(options: {
  features: SparseMatrix;
  labels: ArrayLike<number>;
  rowWeights: Float64Array;
  classWeights: keyof typeof powers;
  classCount: number;
  l2: number;
  prior?: Float64Array;
  classes?: readonly number[];
}): Promise<FittedRows> {
  const { features, labels, rowWeights, classCount, prior } = options;
  const counts = new Float64Array(classCount);
  for (const [row, weight] of rowWeights.entries()) counts[labels[row]] += weight;
  const classes = options.classes ?? [...counts.keys()].filter((label) => counts[label] > 0);
  const baseLogits = new Float64Array(features.rows * classCount).fill(-Infinity);
  for (let row = 0; row < features.rows; row++)
    for (const label of classes) {
      let logit = 0;
      for (let entry = features.starts[row]; prior !== undefined && entry < features.starts[row + 1]; entry++)
        logit += features.values[entry] * prior[features.indices[entry] * classCount + label];
      baseLogits[row * classCount + label] = logit;
    }
  // Each caller fits other rows, so that inner products would be used once.
  const rows = { features, targets: certainTargets({ labels, classCount }), classCount, baseLogits };
  const fitRows = await softmaxFitter({ ...rows, mostInnerProducts: 0 });
  const power = powers[options.classWeights];
  const { logits, weights } = await fitRows({
    // A row that is left out may be the only one of its class, whose count is 0.
    rowWeights: rowWeights.map((weight, row) => (weight === 0 ? 0 : weight * counts[labels[row]] ** -power)),
    // The loss is a mean over the rows. More of them reduce the influence of the penalty.
    l2: options.l2 / counts.reduce((sum, count) => sum + count, 0),
  });
  return {
    logits: logits.map((logit, index) => baseLogits[index] + logit),
    weights: () => (prior === undefined ? weights() : weights().map((change, index) => prior[index] + change)),
  };
}
