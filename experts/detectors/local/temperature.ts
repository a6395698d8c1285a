const SMALLEST = 0.05;
const LARGEST = 20;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

interface Scored {
  /** Row-major `[rows, classes]`. */
  readonly logits: Float32Array;
  readonly classes: Int32Array;
  readonly rowWeights: Float32Array;
  readonly classCount: number;
}

/** Weighted mean of −log p(true class) after dividing the logits by `temperature`. */
export function logLoss(scored: Scored, temperature = 1): number {
  const { logits, classes, rowWeights, classCount } = scored;
  let loss = 0;
  let weight = 0;
  for (let row = 0; row < classes.length; row++) {
    const offset = row * classCount;
    let largest = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < classCount; index++) largest = Math.max(largest, logits[offset + index] / temperature);
    let sum = 0;
    for (let index = 0; index < classCount; index++) sum += Math.exp(logits[offset + index] / temperature - largest);
    loss += rowWeights[row] * (largest + Math.log(sum) - logits[offset + classes[row]] / temperature);
    weight += rowWeights[row];
  }
  return loss / weight;
}

/**
 * The temperature that makes held-out probabilities honest (Guo et al., 2017), by golden-section search: the loss is
 * convex in 1 / temperature, hence has one minimum in its logarithm too. One number keeps every decision as it was.
 */
export function fitTemperature(scored: Scored): number {
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
