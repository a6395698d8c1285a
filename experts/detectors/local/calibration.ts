/** Logits of rows by a classifier that has not seen them, and what they should have been. */
export interface Scored {
  /** Row-major `[rows, classes]`. */
  readonly logits: Float64Array;
  /** Row-major `[rows, classes]`; each row adds up to 1. */
  readonly targets: Float64Array;
  /** Those of an item, such as the prefixes of a thread, add up to 1. */
  readonly rowWeights: Float64Array;
  readonly classCount: number;
}

/** Weighted mean of −Σ target · log p(class), in nats, after dividing the logits by `temperature`. */
export function logLoss(scored: Scored, temperature = 1): number {
  const { logits, targets, rowWeights, classCount } = scored;
  let loss = 0;
  let weight = 0;
  for (let row = 0; row < rowWeights.length; row++) {
    const offset = row * classCount;
    let largest = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < classCount; index++) largest = Math.max(largest, logits[offset + index] / temperature);
    let sum = 0;
    for (let index = 0; index < classCount; index++) sum += Math.exp(logits[offset + index] / temperature - largest);
    let expected = 0;
    for (let index = 0; index < classCount; index++)
      expected += targets[offset + index] * (logits[offset + index] / temperature);
    loss += rowWeights[row] * (largest + Math.log(sum) - expected);
    weight += rowWeights[row];
  }
  return loss / weight;
}

function withOneMoreOfEach({ targets, ...scored }: Scored): Scored {
  const { classCount } = scored;
  const items = scored.rowWeights.reduce((sum, weight) => sum + weight, 0);
  return { ...scored, targets: targets.map((target) => (items * target + 1) / (items + classCount)) };
}

const SMALLEST = 0.05;
const LARGEST = 20;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * The temperature that calibrates held-out probabilities (Guo et al., 2017, https://arxiv.org/abs/1706.04599), found
 * by golden-section search: the loss is convex in 1 / temperature, so it has a single minimum in its logarithm, too.
 * A temperature changes no decision.
 *
 * One more item of each class is counted, as Platt does (1999, "Probabilistic outputs for support vector machines"): of n that
 * were all right, the next is right with (n + 1) / (n + 2). Otherwise a few items that a word separates would be certainties.
 */
export function fitTemperature(given: Scored): number {
  const scored = withOneMoreOfEach(given);
  let low = Math.log(SMALLEST);
  let high = Math.log(LARGEST);
  while (high - low > 1e-4) {
    const left = high - GOLDEN * (high - low);
    const right = low + GOLDEN * (high - low);
    if (logLoss(scored, Math.exp(left)) < logLoss(scored, Math.exp(right))) high = right;
    else low = left;
  }
  return Math.exp((low + high) / 2);
}
