import { setImmediate as nextTurn } from 'node:timers/promises';
import { softmaxInPlace } from '../softmax.ts';
import { type SparseMatrix, seenColumns } from './sparse-matrix.ts';

/** A weighted softmax regression with a Gaussian prior on its weights. */
export interface SoftmaxProblem {
  readonly features: SparseMatrix;
  /** Row-major `[rows, classes]`: the probability of each class, 1 for a class that is certain; a row adds up to 1. */
  readonly targets: Float64Array;
  /** One weight per row, summing to 1; 0 leaves a row out. */
  readonly rowWeights: Float64Array;
  /** Whether rows may have each class; the others get no gradient except that of the prior. */
  readonly candidates: readonly boolean[];
  /** `[columns, classes]`: the weights of a feature are adjacent, in the order in which they are read. */
  readonly prior: Float64Array;
  readonly l2: number;
  /** Logits that are added to each row, row-major `[rows, classes]`; 0 by default. */
  readonly baseLogits?: Float64Array;
}

/**
 * Returns Σ rowWeight · −Σ target · log p(class | row) + l2 / 2 · ‖weights − prior‖² and writes its gradient into
 * `gradient`. Sums run in the order of rows and entries, so equal data give equal bits.
 */
export function softmaxLoss(options: {
  problem: SoftmaxProblem;
  weights: Float64Array;
  gradient: Float64Array;
}): number {
  const { problem, weights, gradient } = options;
  const { features, targets, rowWeights, candidates, prior, l2, baseLogits } = problem;
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
    for (let label = 0; label < classCount; label++) logits[label] = baseLogits?.[row * classCount + label] ?? 0;
    addLogits(logits, { features, row, weights });
    for (let label = 0; label < classCount; label++) if (!candidates[label]) logits[label] = -Infinity;
    let expected = 0;
    for (let label = 0; label < classCount; label++) {
      const target = targets[row * classCount + label];
      if (target > 0) expected += target * logits[label];
    }
    const logSum = softmaxInPlace(logits);
    loss += rowWeight * (logSum - expected);
    for (let label = 0; label < classCount; label++)
      logits[label] = rowWeight * (logits[label] - targets[row * classCount + label]);
    addGradient(gradient, { features, row, slopes: logits });
  }
  return loss;
}

/**
 * The weights [columns, classes] at the minimum of `softmaxLoss`. Columns that no row has stay at their prior, so the
 * fit leaves them out.
 * @param options.prior 0 by default
 * @param options.candidates all classes by default
 * @param options.tolerance distance from the smallest loss, in nats, at which the fit ends
 */
export async function fitSoftmax(
  options: Omit<SoftmaxProblem, 'prior' | 'candidates'> & {
    classCount: number;
    prior?: Float64Array;
    candidates?: readonly boolean[];
    tolerance: number;
    maximumSteps: number;
    signal?: AbortSignal;
  },
): Promise<Float64Array> {
  const { classCount, l2, tolerance, maximumSteps, signal } = options;
  const candidates = options.candidates ?? new Array<boolean>(classCount).fill(true);
  const weights = options.prior?.slice() ?? new Float64Array(options.features.columns * classCount);
  const { features, columns } = seenColumns(options.features);
  const prior = new Float64Array(columns.length * classCount);
  for (const [place, column] of columns.entries())
    prior.set(weights.subarray(column * classCount, (column + 1) * classCount), place * classCount);
  const problem = { ...options, features, candidates, prior };
  const { point } = await minimize({
    start: prior,
    lossAt(at, gradient) {
      signal?.throwIfAborted();
      return softmaxLoss({ problem, weights: at, gradient });
    },
    convexity: l2,
    tolerance,
    maximumSteps,
  });
  for (const [place, column] of columns.entries())
    weights.set(point.subarray(place * classCount, (place + 1) * classCount), column * classCount);
  return weights;
}

/**
 * Adds a row's products with weights [columns, classes] to its logits [classes]. Two classes at a time, whose sums are
 * variables, do not wait for the memory.
 */
export function addLogits(
  logits: Float64Array,
  { features, row, weights }: { features: SparseMatrix; row: number; weights: Float64Array },
): void {
  const { starts, indices, values } = features;
  const classCount = logits.length;
  const end = starts[row + 1];
  let label = 0;
  for (; label + 1 < classCount; label += 2) {
    let left = logits[label];
    let right = logits[label + 1];
    for (let entry = starts[row]; entry < end; entry++) {
      const at = indices[entry] * classCount + label;
      left += values[entry] * weights[at];
      right += values[entry] * weights[at + 1];
    }
    logits[label] = left;
    logits[label + 1] = right;
  }
  if (label === classCount) return;
  let last = logits[label];
  for (let entry = starts[row]; entry < end; entry++)
    last += values[entry] * weights[indices[entry] * classCount + label];
  logits[label] = last;
}

/** Adds a row times the slopes of its logits [classes] to a gradient [columns, classes], two classes at a time. */
function addGradient(
  gradient: Float64Array,
  { features, row, slopes }: { features: SparseMatrix; row: number; slopes: Float64Array },
): void {
  const { starts, indices, values } = features;
  const classCount = slopes.length;
  const end = starts[row + 1];
  let label = 0;
  for (; label + 1 < classCount; label += 2) {
    const left = slopes[label];
    const right = slopes[label + 1];
    for (let entry = starts[row]; entry < end; entry++) {
      const at = indices[entry] * classCount + label;
      gradient[at] += values[entry] * left;
      gradient[at + 1] += values[entry] * right;
    }
  }
  if (label === classCount) return;
  const last = slopes[label];
  for (let entry = starts[row]; entry < end; entry++)
    gradient[indices[entry] * classCount + label] += values[entry] * last;
}

/** Targets of rows whose class is certain. */
export function certainTargets({
  labels,
  classCount,
}: {
  labels: ArrayLike<number>;
  classCount: number;
}): Float64Array {
  const targets = new Float64Array(labels.length * classCount);
  for (let row = 0; row < labels.length; row++) targets[row * classCount + labels[row]] = 1;
  return targets;
}

const MEMORY = 10;
const SUFFICIENT_DECREASE = 1e-4;
const MAXIMUM_HALVINGS = 30;

export interface Minimum {
  readonly point: Float64Array;
  readonly steps: number;
  /** An upper bound on the distance of the loss from its minimum. */
  readonly gap: number;
}

/**
 * L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.5) with step halving, for losses that are smooth and
 * strongly convex with constant `convexity`. For these the curvature pairs need no Wolfe search, and ‖gradient‖² / (2
 * convexity) bounds the distance to the minimum, which is compared with `tolerance`. Uses no randomness. Yields to
 * other work after every step.
 */
export async function minimize(options: {
  start: Float64Array;
  /** Returns the loss at the point and writes its gradient. */
  lossAt: (point: Float64Array, gradient: Float64Array) => number;
  /** Inner product of points and gradients, if it is not the sum of the products of their numbers. */
  dot?: InnerProduct;
  convexity: number;
  tolerance: number;
  maximumSteps: number;
}): Promise<Minimum> {
  const { lossAt, dot = euclidean, convexity, tolerance, maximumSteps } = options;
  const size = options.start.length;
  let point = options.start.slice();
  let gradient = new Float64Array(size);
  let nextPoint = new Float64Array(size);
  let nextGradient = new Float64Array(size);
  let loss = lossAt(point, gradient);
  const pairs: CurvaturePair[] = [];
  const gapOf = () => dot(gradient, gradient) / (2 * convexity);
  let steps = 0;
  for (; steps < maximumSteps && gapOf() > tolerance; steps++) {
    const direction = descentDirection({ gradient, pairs, dot });
    const slope = dot(gradient, direction);
    let length = 1;
    let nextLoss = Infinity;
    for (let halvings = 0; ; halvings++) {
      for (let index = 0; index < size; index++) nextPoint[index] = point[index] + length * direction[index];
      nextLoss = lossAt(nextPoint, nextGradient);
      if (nextLoss <= loss + SUFFICIENT_DECREASE * length * slope || halvings === MAXIMUM_HALVINGS) break;
      length /= 2;
    }
    // No step reduces the loss any more: rounding errors dominate.
    if (!(nextLoss < loss)) break;
    pushPair({ pairs, point, nextPoint, gradient, nextGradient, dot });
    [point, nextPoint] = [nextPoint, point];
    [gradient, nextGradient] = [nextGradient, gradient];
    loss = nextLoss;
    await nextTurn();
  }
  return { point, steps, gap: gapOf() };
}

interface CurvaturePair {
  readonly move: Float64Array;
  readonly change: Float64Array;
  readonly product: number;
}

function pushPair(options: {
  pairs: CurvaturePair[];
  point: Float64Array;
  nextPoint: Float64Array;
  gradient: Float64Array;
  nextGradient: Float64Array;
  dot: InnerProduct;
}): void {
  const { pairs, point, nextPoint, gradient, nextGradient, dot } = options;
  const move = difference(nextPoint, point);
  const change = difference(nextGradient, gradient);
  const product = dot(move, change);
  if (product <= 0) return;
  pairs.push({ move, change, product });
  if (pairs.length > MEMORY) pairs.shift();
}

function descentDirection(options: {
  gradient: Float64Array;
  pairs: readonly CurvaturePair[];
  dot: InnerProduct;
}): Float64Array {
  const { gradient, pairs, dot } = options;
  const direction = new Float64Array(gradient.length);
  for (let index = 0; index < direction.length; index++) direction[index] = -gradient[index];
  if (pairs.length === 0) return direction;
  const shares = new Float64Array(pairs.length);
  for (let index = pairs.length - 1; index >= 0; index--) {
    const { move, change, product } = pairs[index];
    shares[index] = dot(move, direction) / product;
    addScaled({ into: direction, vector: change, scale: -shares[index] });
  }
  const { change, product } = pairs[pairs.length - 1];
  const scale = product / dot(change, change);
  for (let index = 0; index < direction.length; index++) direction[index] *= scale;
  for (const [index, pair] of pairs.entries()) {
    const share = dot(pair.change, direction) / pair.product;
    addScaled({ into: direction, vector: pair.move, scale: shares[index] - share });
  }
  return direction;
}

type InnerProduct = (left: Float64Array, right: Float64Array) => number;

function euclidean(left: Float64Array, right: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++) sum += left[index] * right[index];
  return sum;
}

function difference(left: Float64Array, right: Float64Array): Float64Array {
  const result = new Float64Array(left.length);
  for (let index = 0; index < result.length; index++) result[index] = left[index] - right[index];
  return result;
}

function addScaled({ into, vector, scale }: { into: Float64Array; vector: Float64Array; scale: number }): void {
  for (let index = 0; index < into.length; index++) into[index] += scale * vector[index];
}
