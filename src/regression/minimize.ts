import { setImmediate as nextTurn } from 'node:timers/promises';

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
