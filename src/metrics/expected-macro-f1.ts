import { InputError } from '../errors.ts';
import type { ClassIndices } from './classification.ts';

/** Items whose class is predicted by chance, each on its own. */
export interface ChancePredictions {
  readonly gold: ClassIndices;
  /** Row-major [items, classes]: how likely each class is predicted. What a row lacks to 1 is a prediction of −1. */
  readonly chances: Float64Array;
  readonly classes: number;
}

/**
 * The expectation of `macroF1` over all predictions, exact. Hits and false alarms of a class come from different items, so they
 * are independent, and each is a sum of independent events (Poisson-binomial).
 * @throws InputError without items, or for chances of another number
 */
export function expectedMacroF1({ gold, chances, classes }: ChancePredictions): number {
  if (gold.length === 0)
    throw new InputError('there are no labelled items to score; evaluate on threads that carry the label');
  if (chances.length !== gold.length * classes)
    throw new InputError(
      `there are ${chances.length} chances for ${gold.length} items of ${classes} classes; give one an item and class`,
    );
  let sum = 0;
  for (let label = 0; label < classes; label++) sum += expectedF1({ gold, chances, classes }, label);
  return sum / classes;
}

function expectedF1({ gold, chances, classes }: ChancePredictions, label: number): number {
  const hits: number[] = [];
  const alarms: number[] = [];
  for (const [item, own] of gold.entries()) (own === label ? hits : alarms).push(chances[item * classes + label]);
  const falseAlarms = countDistribution(alarms);
  const support = hits.length;
  let expectation = 0;
  for (const [hit, chance] of countDistribution(hits))
    if (hit > 0)
      for (const [alarm, other] of falseAlarms) expectation += (chance * other * 2 * hit) / (hit + alarm + support);
  return expectation;
}

/** Chances below this are left out, so that time grows with the spread of a count and not with its range. */
const negligible = 1e-18;

/** How many of independent events come true, and how likely each count is. */
function countDistribution(probabilities: readonly number[]): [number, number][] {
  const distribution = new Float64Array(probabilities.length + 1);
  distribution[0] = 1;
  let [least, most] = [0, 0];
  for (const probability of probabilities) {
    if (probability === 0) continue;
    most++;
    for (let count = most; count > least; count--)
      distribution[count] += probability * (distribution[count - 1] - distribution[count]);
    distribution[least] *= 1 - probability;
    while (distribution[most] < negligible) distribution[most--] = 0;
    while (distribution[least] < negligible) distribution[least++] = 0;
  }
  return Array.from(distribution.subarray(least, most + 1), (chance, index) => [least + index, chance]);
}
