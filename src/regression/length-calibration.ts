import { goldenSection } from './golden-section.ts';
import { calibratedTemperature, type ScoredRows } from './logit-calibration.ts';

/** A factor for all logits of a prefix: scale · min(posts, mostPosts)^growth. It changes no decision. */
export interface LengthCalibration {
  /** The factor of a single post. */
  readonly scale: number;
  /** The power of the posts by which the factor grows. */
  readonly growth: number;
  /** Longer prefixes have the factor of this many posts, because no longer one was calibrated. */
  readonly mostPosts: number;
}

const steepest = 2;

/**
 * Fits a temperature for each length of a prefix. One temperature for all lengths is a compromise: if first posts
 * reveal little, whole threads look unsure. The factor is a power of the length, chosen for the log loss with the best
 * temperature. A standard normal prior keeps the power near 0 if all lengths are equally hard to judge.
 * @param options.lengths posts of each row
 */
export function fitLengthCalibration({
  scored,
  lengths,
}: {
  scored: ScoredRows;
  lengths: ArrayLike<number>;
}): LengthCalibration {
  const { logits, rowWeights, classCount } = scored;
  let items = 0;
  let logPosts = 0;
  let mostPosts = 1;
  for (const [row, weight] of rowWeights.entries()) {
    if (weight === 0) continue;
    items += weight;
    logPosts += weight * Math.log(lengths[row]);
    mostPosts = Math.max(mostPosts, lengths[row]);
  }
  // Temperatures have bounds. Relative to the usual length, the factors of most rows are near 1.
  const usualPosts = Math.exp(logPosts / items);
  const withGrowth = (growth: number) =>
    calibratedTemperature({
      ...scored,
      logits: logits.map((logit, index) => logit * (lengths[Math.floor(index / classCount)] / usualPosts) ** growth),
    });
  const growth = goldenSection({
    low: -steepest,
    high: steepest,
    width: 0.01,
    lossAt: (power) => withGrowth(power).loss + power ** 2 / (2 * items),
  });
  return { scale: 1 / (withGrowth(growth).temperature * usualPosts ** growth), growth, mostPosts };
}
