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
 * are independent, and each is a sum of independent events (Poisson-binomial). Time and memory grow with the square of the items
 * that are not certain.
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
  for (const [hit, chance] of countDistribution(hits).entries())
    if (hit > 0 && chance > 0)
      for (const [alarm, other] of falseAlarms.entries())
        expectation += (chance * other * 2 * hit) / (hit + alarm + support);
  return expectation;
}

/** How likely 0 … n of n independent events are: [n + 1]. */
function countDistribution(probabilities: readonly number[]): Float64Array {
  const distribution = new Float64Array(probabilities.length + 1);
  distribution[0] = 1;
  for (const [before, probability] of probabilities.entries()) {
    if (probability === 0) continue;
    for (let count = before + 1; count > 0; count--)
      distribution[count] += probability * (distribution[count - 1] - distribution[count]);
    distribution[0] *= 1 - probability;
  }
  return distribution;
}
