import type { SparseMatrix } from './sparse-matrix.ts';

/** A weighted softmax regression whose weights are drawn to a prior. */
export interface SoftmaxProblem {
  readonly features: SparseMatrix;
  /** Of each row, the index of its class. */
  readonly labels: Int32Array;
  /** Of each row; they sum to 1, and 0 leaves a row out. */
  readonly rowWeights: Float64Array;
  /** Which classes a row is known to be one of; the others get no gradient but that of the prior. */
  readonly candidates: readonly boolean[];
  /** `[columns, classes]`: a feature's weights lie side by side, as the products read them. */
  readonly prior: Float64Array;
  readonly l2: number;
}

/**
 * Σ rowWeight · −log p(label | row) + l2 / 2 · ‖weights − prior‖², and its gradient into `gradient`. The sums run in
 * the order of rows and entries, so that the same data gives the same bits.
 */
export function softmaxLoss(options: {
  problem: SoftmaxProblem;
  weights: Float64Array;
  gradient: Float64Array;
}): number {
  const { problem, weights, gradient } = options;
  const { features, labels, rowWeights, candidates, prior, l2 } = problem;
  const { starts, indices, values } = features;
  const classCount = candidates.length;
  const logits = new Float64Array(classCount);
  let loss = 0;
  for (let index = 0; index < weights.length; index++) {
    const distance = weights[index] - prior[index];
    gradient[index] = l2 * distance;
    loss += 0.5 * l2 * distance * distance;
  }
  for (let row = 0; row < features.rows; row++) {
    const rowWeight = rowWeights[row];
    if (rowWeight === 0) continue;
    logits.fill(0);
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const value = values[entry];
      const first = indices[entry] * classCount;
      for (let label = 0; label < classCount; label++) logits[label] += value * weights[first + label];
    }
    for (let label = 0; label < classCount; label++) if (!candidates[label]) logits[label] = -Infinity;
    const label = labels[row];
    const ownLogit = logits[label];
    const logSum = softmaxInPlace(logits);
    loss += rowWeight * (logSum - ownLogit);
    logits[label] -= 1;
    for (let index = 0; index < classCount; index++) logits[index] *= rowWeight;
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const value = values[entry];
      const first = indices[entry] * classCount;
      for (let index = 0; index < classCount; index++) gradient[first + index] += value * logits[index];
    }
  }
  return loss;
}

/** Logits to probabilities; returns ln Σ exp(logit). */
export function softmaxInPlace(logits: Float64Array): number {
  let largest = -Infinity;
  for (let index = 0; index < logits.length; index++) largest = Math.max(largest, logits[index]);
  let sum = 0;
  for (let index = 0; index < logits.length; index++) {
    logits[index] = Math.exp(logits[index] - largest);
    sum += logits[index];
  }
  for (let index = 0; index < logits.length; index++) logits[index] /= sum;
  return largest + Math.log(sum);
}
