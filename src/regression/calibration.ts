import { likeliest } from '../likeliest.ts';
import { softmaxInPlace } from '../softmax.ts';

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** The minimum between `low` and `high` of a loss with a single one, to within `width`, by golden-section search. */
export function goldenSection(options: {
  low: number;
  high: number;
  width: number;
  lossAt: (value: number) => number;
}): number {
  const { width, lossAt } = options;
  let { low, high } = options;
  while (high - low > width) {
    const left = high - GOLDEN * (high - low);
    const right = low + GOLDEN * (high - low);
    if (lossAt(left) < lossAt(right)) high = right;
    else low = left;
  }
  return (low + high) / 2;
}

/** Held-out logits of rows by a classifier, with their targets. */
export interface ScoredRows {
  /** Row-major `[rows, classes]`. */
  readonly logits: Float64Array;
  /** Row-major `[rows, classes]`; each row adds up to 1. */
  readonly targets: Float64Array;
  /** Weights of the rows. Those of an item, such as the prefixes of a thread, add up to 1. */
  readonly rowWeights: Float64Array;
  readonly classCount: number;
}

/** Weighted mean of −Σ target · log p(class), in nats, after dividing the logits by `temperature`. */
export function logLoss(scored: ScoredRows, temperature = 1): number {
  const { logits, targets, rowWeights, classCount } = scored;
  const scaled = new Float64Array(classCount);
  let loss = 0;
  let weight = 0;
  for (let row = 0; row < rowWeights.length; row++) {
    let expected = 0;
    for (let label = 0; label < classCount; label++) {
      scaled[label] = logits[row * classCount + label] / temperature;
      expected += targets[row * classCount + label] * scaled[label];
    }
    loss += rowWeights[row] * (softmaxInPlace(scaled) - expected);
    weight += rowWeights[row];
  }
  return loss / weight;
}

function withOneMoreOfEach({ targets, ...scored }: ScoredRows): ScoredRows {
  const { classCount } = scored;
  const items = scored.rowWeights.reduce((sum, weight) => sum + weight, 0);
  return { ...scored, targets: targets.map((target) => (items * target + 1) / (items + classCount)) };
}

const SMALLEST = 0.05;
const LARGEST = 20;

/**
 * The temperature that calibrates held-out probabilities (Guo et al., 2017, https://arxiv.org/abs/1706.04599): the loss
 * is convex in 1 / temperature, so it has a single minimum in its logarithm, too. A temperature changes no decision.
 * One more item of each class is counted, as in Platt (1999, "Probabilistic outputs for support vector machines"):
 * after n right items, the next is right with (n + 1) / (n + 2). Otherwise a few items that a word separates would be
 * certainties.
 */
export function fitTemperature(scored: ScoredRows): number {
  return calibratedTemperature(scored).temperature;
}

/** The temperature of `fitTemperature`, and its loss with one more item of each class. */
export function calibratedTemperature(rows: ScoredRows): { temperature: number; loss: number } {
  const scored = withOneMoreOfEach(rows);
  const lossAt = (logTemperature: number) => logLoss(scored, Math.exp(logTemperature));
  const logTemperature = goldenSection({ low: Math.log(SMALLEST), high: Math.log(LARGEST), width: 1e-4, lossAt });
  return { temperature: Math.exp(logTemperature), loss: lossAt(logTemperature) };
}

/** Candidates along the values at which a row changes its class; a grid of fixed steps would miss small logits. */
const quantiles = 49;
const mostSweeps = 5;
const leastGain = 1e-9;

/**
 * An offset per class, added to its logit, for the best macro-F1 of held-out logits. A classifier whose confidence
 * follows the class frequencies predicts a rare class too seldom for macro-F1. One class after the other is fitted: its
 * candidates are quantiles of the offsets that change the label of a row.
 * @returns [classes], 0 for class 0
 */
export function fitClassOffsets({ logits, targets, rowWeights, classCount }: ScoredRows): number[] {
  const rows = Array.from(rowWeights, (weight, row) => ({
    weight,
    logits: logits.subarray(row * classCount, (row + 1) * classCount),
    gold: likeliest(targets.subarray(row * classCount, (row + 1) * classCount)),
  })).filter(({ weight }) => weight > 0);

  const macroF1 = (offsets: readonly number[]) => {
    const [hits, predicted, gold] = [0, 1, 2].map(() => new Float64Array(classCount));
    for (const row of rows) {
      let best = 0;
      for (let label = 1; label < classCount; label++)
        if (row.logits[label] + offsets[label] > row.logits[best] + offsets[best]) best = label;
      predicted[best] += row.weight;
      gold[row.gold] += row.weight;
      if (best === row.gold) hits[best] += row.weight;
    }
    const f1 = hits.map((hit, label) => (hit === 0 ? 0 : (2 * hit) / (predicted[label] + gold[label])));
    return f1.reduce((sum, value) => sum + value, 0) / classCount;
  };

  let offsets = new Array<number>(classCount).fill(0);
  let best = macroF1(offsets);
  for (let sweep = 0; sweep < mostSweeps; sweep++) {
    const before = best;
    // With two classes, one offset is enough.
    for (let label = classCount === 2 ? 1 : 0; label < classCount; label++) {
      const changes = rows.map((row) => {
        const others = [...row.logits].map((logit, other) => (other === label ? -Infinity : logit + offsets[other]));
        return Math.max(...others) - row.logits[label];
      });
      const current = offsets;
      for (const value of quantilesOf(changes)) {
        const tried = current.with(label, value);
        const score = macroF1(tried);
        if (score <= best + leastGain) continue;
        best = score;
        offsets = tried;
      }
    }
    if (best === before) break;
  }
  return offsets.map((offset) => offset - offsets[0]);
}

/** Values between neighbours, so that none is a tie. */
function quantilesOf(values: readonly number[]): number[] {
  const sorted = [...values].sort((left, right) => left - right);
  const last = sorted.length - 1;
  const places = Array.from({ length: quantiles }, (_, index) => Math.floor(((index + 1) / (quantiles + 1)) * last));
  return [...new Set(places)].map((place) => (sorted[place] + sorted[Math.min(place + 1, last)]) / 2);
}

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
