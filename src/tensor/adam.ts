import * as tf from '@tensorflow/tfjs-core';
import { Given } from './graph/compiled.ts';
import { isInGraph, packed, product, type Shapes, type Tensors, unpacked } from './operations.ts';
import { Scratch } from './scratch.ts';

/*
 * Adam (Kingma & Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1). It uses the paper's
 * decay rates β₁ = 0.9 and β₂ = 0.999 and adds epsilon outside the root of the corrected second moment, as PyTorch does.
 */

/**
 * Parameters with their Adam moments. Owns its tensor; `disposeOptimized` frees it, `descent` (descent.ts) moves it. One tensor, because
 * each that a step is given and returns takes time, and an update of one row has fewer nodes than updates of every parameter.
 */
export interface Optimized<Name extends string = string> {
  readonly shapes: Shapes<Name>;
  /**
   * A row each of all parameters, one behind the other, and of their decayed sums, m ← β₁m + g and v ← β₂v + g², which are the paper's
   * moments over 1 − β: [3, numbers].
   */
  moving: tf.Tensor2D;
  /** Updates done, for the bias correction. */
  updates: number;
  /** For what every iteration fills again. */
  readonly scratch: Scratch;
}

/** Settings of one update. */
export interface AdamOptions {
  readonly learningRate: number;
  readonly epsilon: number;
  /** Gradients are scaled down to this norm over all parameters, if they exceed it. */
  readonly maxGradientNorm?: number;
}

export const beta1 = 0.9;
export const beta2 = 0.999;

/** 1 − βᵗ of both moments: they start at zero, and dividing by these undoes the pull towards it. */
export function biasCorrections(updates: number): { first: number; second: number } {
  return { first: 1 - beta1 ** updates, second: 1 - beta2 ** updates };
}

/** Parameters before their first update. Takes ownership of `parameters`. */
export function optimized<Name extends string>(parameters: Tensors<Name>): Optimized<Name> {
  const tensors: tf.Tensor2D[] = Object.values(parameters);
  const shapes = Object.fromEntries(Object.entries<tf.Tensor2D>(parameters).map(([name, { shape }]) => [name, shape]));
  const moving = tf.tidy(() => withoutMoments(packed(tensors)));
  tf.dispose(tensors);
  return { shapes: shapes as Shapes<Name>, moving, updates: 0, scratch: new Scratch() };
}

function withoutMoments(parameters: tf.Tensor2D): tf.Tensor2D {
  return tf.concat([parameters, tf.zeros([2, parameters.shape[1]])], 0);
}

/** The parameters as matrices, which the caller disposes. */
export function parametersOf<Name extends string>({
  moving,
  shapes,
}: Pick<Optimized<Name>, 'moving' | 'shapes'>): Tensors<Name> {
  return tf.tidy(() => unpacked(tf.slice(moving, [0, 0], [1, moving.shape[1]]), shapes));
}

/**
 * Counts updates and returns the numbers of each, [count, 2 or 3]: minus the step size, epsilon, and where gradients are clipped
 * their largest norm. They are an input, so that a compiled step takes others each time. The bias corrections and the factors 1 − β are folded
 * into step size and epsilon (the paper's §2, last paragraph), which spares the device four operations on every parameter.
 */
export function nextAdamSteps(
  state: Pick<Optimized, 'updates'>,
  { count, ...options }: AdamOptions & { count: number },
): Given {
  const { learningRate, epsilon, maxGradientNorm } = options;
  const width = maxGradientNorm === undefined ? 2 : 3;
  const numbers = new Float32Array(count * width);
  for (let start = 0; start < numbers.length; start += width) {
    state.updates++;
    const corrections = biasCorrections(state.updates);
    const rootOfSecond = Math.sqrt(corrections.second / (1 - beta2));
    numbers[start] = -learningRate * (((1 - beta1) * rootOfSecond) / corrections.first);
    numbers[start + 1] = epsilon * rootOfSecond;
    if (maxGradientNorm !== undefined) numbers[start + 2] = maxGradientNorm;
  }
  return new Given(numbers, [count, width]);
}

/** Parameters, gradient sums and square sums: [1, numbers] each. */
export type Moving = readonly tf.Tensor2D[];

/**
 * One Adam step downhill. Call it in a tidy.
 * @param gradients in the order of the parameters
 * @param numbers of this step, two or three of [1, 1]
 */
export function adamStep(
  [parameters, gradientSums, squareSums]: Moving,
  gradients: readonly tf.Tensor2D[],
  [minusStepSize, epsilon, maxGradientNorm]: readonly tf.Tensor2D[],
): Moving {
  const row = packed(gradients);
  const clipped =
    maxGradientNorm === undefined ? row : tf.mul<tf.Tensor2D>(row, clipScale(gradients, { row, maxGradientNorm }));
  const decayed = (old: tf.Tensor2D, beta: number, more: tf.Tensor2D) => tf.add<tf.Tensor2D>(tf.mul(old, beta), more);
  const first = decayed(gradientSums, beta1, clipped);
  const second = decayed(squareSums, beta2, tf.square(clipped));
  // Subtracting takes ONNX Runtime twice as long as adding.
  const change = tf.mul(tf.div(first, tf.add(tf.sqrt(second), epsilon)), minusStepSize);
  return [tf.add(parameters, change), first, second];
}

/** min(1, max / ‖g‖), [1, 1]. In a graph the sum of the squares is a product; wasm adds one by one, and rounds less by parts. */
function clipScale(
  gradients: readonly tf.Tensor2D[],
  { row, maxGradientNorm }: { row: tf.Tensor2D; maxGradientNorm: tf.Tensor2D },
): tf.Tensor {
  const squares = isInGraph()
    ? product(row, row, { transposeRight: true })
    : tf.addN(gradients.map((gradient) => tf.sum<tf.Tensor2D>(tf.square(gradient), [0, 1], true)));
  return tf.minimum(1, tf.div(maxGradientNorm, tf.add(tf.sqrt(squares), 1e-6)));
}

/** Sets the moments and the count of updates back to zero; the parameters stay. */
export function resetOptimizer(state: Optimized): void {
  const { moving } = state;
  state.moving = tf.tidy(() => withoutMoments(tf.slice(moving, [0, 0], [1, moving.shape[1]])));
  state.updates = 0;
  moving.dispose();
}

/** Frees parameters and moments; the state must not be used after. */
export function disposeOptimized({ moving }: Pick<Optimized, 'moving'>): void {
  moving.dispose();
}
