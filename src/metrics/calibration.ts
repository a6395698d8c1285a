/** An answer with its system's probability. */
export interface ConfidentAnswer {
  readonly confidence: number;
  readonly isRight: boolean;
}

const binCount = 10;

/**
 * Confidence against accuracy in ten bins of equal width, and the expected calibration error: their mean distance,
 * weighted by items (Guo et al. 2017, §2).
 * @returns null without answers
 */
export function calibration(answers: readonly ConfidentAnswer[]) {
  if (answers.length === 0) return null;
  const sums = Array.from({ length: binCount }, () => ({ confidence: 0, right: 0, items: 0 }));
  for (const { confidence, isRight } of answers) {
    const sum = sums[Math.min(binCount - 1, Math.floor(confidence * binCount))];
    sum.confidence += confidence;
    sum.right += Number(isRight);
    sum.items++;
  }
  const bins = sums
    .filter(({ items }) => items > 0)
    .map(({ confidence, right, items }) => ({ confidence: confidence / items, accuracy: right / items, items }));
  const expectedError = bins.reduce(
    (sum, { confidence, accuracy, items }) => sum + (items / answers.length) * Math.abs(confidence - accuracy),
    0,
  );
  return { bins, expectedError };
}

/**
 * Brier score of one answer over all classes (Brier 1950): the squared distance of the probabilities from the gold
 * label, 0 to 2.
 * @param options.gold index of the right class
 */
export function brierScore({ probabilities, gold }: { probabilities: readonly number[]; gold: number }): number {
  return probabilities.reduce((sum, probability, label) => sum + (probability - Number(label === gold)) ** 2, 0);
}
