import { setImmediate as nextTurn } from 'node:timers/promises';

const MEMORY = 10;
const SUFFICIENT_DECREASE = 1e-4;
const MAXIMUM_HALVINGS = 30;

export interface Minimum {
  readonly point: Float64Array;
  readonly steps: number;
  /** A bound on how far the loss still is from its minimum. */
  readonly gap: number;
}

/**
 * L-BFGS (Nocedal and Wright, algorithm 7.5) with halving of the step, for losses that are smooth and strongly convex
 * with constant `convexity`: there the curvature pairs need no Wolfe search, and ‖gradient‖² / (2 convexity) bounds the
 * distance to the minimum, which is what `tolerance` is compared with. Nothing is drawn. Gives way to other work after
 * every step.
 */
export async function minimize(options: {
  start: Float64Array;
  /** Writes the gradient at the point and returns the loss. */
  lossAt: (point: Float64Array, gradient: Float64Array) => number;
  convexity: number;
  tolerance: number;
  maximumSteps: number;
}): Promise<Minimum> {
  const { lossAt, convexity, tolerance, maximumSteps } = options;
  const size = options.start.length;
  let point = options.start.slice();
  let gradient = new Float64Array(size);
  let nextPoint = new Float64Array(size);
  let nextGradient = new Float64Array(size);
  let loss = lossAt(point, gradient);
  const pairs: Pair[] = [];
  const gapOf = () => dot(gradient, gradient) / (2 * convexity);
  let steps = 0;
  for (; steps < maximumSteps && gapOf() > tolerance; steps++) {
    const direction = descentDirection({ gradient, pairs });
    const slope = dot(gradient, direction);
    let length = 1;
    let nextLoss = Infinity;
    for (let halvings = 0; ; halvings++) {
      for (let index = 0; index < size; index++) nextPoint[index] = point[index] + length * direction[index];
      nextLoss = lossAt(nextPoint, nextGradient);
      if (nextLoss <= loss + SUFFICIENT_DECREASE * length * slope || halvings === MAXIMUM_HALVINGS) break;
      length /= 2;
    }
    // No step goes down any more: the sums' rounding is reached.
    if (!(nextLoss < loss)) break;
    pushPair({ pairs, point, nextPoint, gradient, nextGradient });
    [point, nextPoint] = [nextPoint, point];
    [gradient, nextGradient] = [nextGradient, gradient];
    loss = nextLoss;
    await nextTurn();
  }
  return { point, steps, gap: gapOf() };
}

interface Pair {
  readonly move: Float64Array;
  readonly change: Float64Array;
  readonly product: number;
}

function pushPair(options: {
  pairs: Pair[];
  point: Float64Array;
  nextPoint: Float64Array;
  gradient: Float64Array;
  nextGradient: Float64Array;
}): void {
  const { pairs, point, nextPoint, gradient, nextGradient } = options;
  const move = difference(nextPoint, point);
  const change = difference(nextGradient, gradient);
  const product = dot(move, change);
  if (product <= 0) return;
  pairs.push({ move, change, product });
  if (pairs.length > MEMORY) pairs.shift();
}

function descentDirection(options: { gradient: Float64Array; pairs: readonly Pair[] }): Float64Array {
  const { gradient, pairs } = options;
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

function dot(left: Float64Array, right: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++) sum += left[index] * right[index];
  return sum;
}

function difference(left: Float64Array, right: Float64Array): Float64Array {
  const result = new Float64Array(left.length);
  for (let index = 0; index < result.length; index++) result[index] = left[index] - right[index];
  return result;
}

function addScaled(options: { into: Float64Array; vector: Float64Array; scale: number }): void {
  const { into, vector, scale } = options;
  for (let index = 0; index < into.length; index++) into[index] += scale * vector[index];
}
