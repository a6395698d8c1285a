import * as tf from '@tensorflow/tfjs-core';
import { mapTensors, namesOf, sumOfSquares, type Tensors } from './operations.ts';

/*
 * Adam (Kingma & Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1). It uses the paper's
 * decay rates β₁ = 0.9 and β₂ = 0.999 and adds epsilon outside the root of the corrected second moment, as PyTorch does.
 */

/**
 * Parameters with their Adam moments: decayed sums, m ← β₁m + g and v ← β₂v + g², which are the paper's moments over 1 − β. Owns its
 * tensors; `disposeOptimized` frees them, `descent` (descent.ts) moves them.
 */
export interface Optimized<Name extends string = string> {
  parameters: Tensors<Name>;
  gradientSums: Tensors<Name>;
  squareSums: Tensors<Name>;
  /** Updates done, for the bias correction. */
  updates: number;
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
  return {
    parameters,
    gradientSums: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    squareSums: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    updates: 0,
  };
}

/** What an update moves. */
export type Moving<Name extends string = string> = Pick<Optimized<Name>, 'parameters' | 'gradientSums' | 'squareSums'>;

/**
 * Counts updates and returns the numbers of each, [count, 2 or 3]: step size, epsilon, and where gradients are clipped their
 * largest norm. They are a tensor, so that a compiled step takes others each time. The bias corrections and the factors 1 − β are folded
 * into step size and epsilon (the paper's §2, last paragraph), which spares the device four operations on every parameter.
 */
export function nextAdamSteps(state: Optimized, { count, ...options }: AdamOptions & { count: number }): tf.Tensor2D {
  const { learningRate, epsilon, maxGradientNorm } = options;
  return tf.tensor2d(
    Array.from({ length: count }, () => {
      state.updates++;
      const corrections = biasCorrections(state.updates);
      const rootOfSecond = Math.sqrt(corrections.second / (1 - beta2));
      const stepSize = learningRate * (((1 - beta1) * rootOfSecond) / corrections.first);
      const numbers = [stepSize, epsilon * rootOfSecond];
      return maxGradientNorm === undefined ? numbers : [...numbers, maxGradientNorm];
    }),
  );
}

/**
 * One Adam step downhill. Call it in a tidy.
 * @param gradients with the shapes of the parameters
 * @param numbers of this step, [1, 2 or 3]
 */
export function adamStep<Name extends string>(
  { parameters, gradientSums, squareSums }: Moving<Name>,
  gradients: Tensors<Name>,
  numbers: tf.Tensor2D,
): Moving<Name> {
  const [stepSize, epsilon, maxGradientNorm] = tf.split<tf.Tensor2D>(numbers, numbers.shape[1], 1);
  const scale = maxGradientNorm === undefined ? null : clipScale(gradients, maxGradientNorm);
  const clipped = mapTensors(gradients, (own) => (scale === null ? own : tf.mul(own, scale)));
  // Subtracting takes ONNX Runtime twice as long as adding.
  const downhill = tf.neg(stepSize);
  const decayed = (old: tf.Tensor2D, beta: number, more: tf.Tensor2D) => tf.add<tf.Tensor2D>(tf.mul(old, beta), more);
  const first = mapTensors(gradientSums, (old, name) => decayed(old, beta1, clipped[name]));
  const second = mapTensors(squareSums, (old, name) => decayed(old, beta2, tf.square(clipped[name])));
  return {
    parameters: mapTensors(parameters, (old, name) =>
      tf.add(old, tf.mul(tf.div(first[name], tf.add(tf.sqrt(second[name]), epsilon)), downhill)),
    ),
    gradientSums: first,
    squareSums: second,
  };
}

/** Puts moved tensors in the place of those that the state has, which are disposed. */
export function adopt<Name extends string>(state: Optimized<Name>, moved: Moving<Name>): void {
  const { parameters, gradientSums, squareSums } = state;
  tf.dispose([parameters, gradientSums, squareSums]);
  Object.assign(state, moved);
}

/** min(1, max / ‖g‖), [1, 1]. */
function clipScale(gradients: Tensors, maxGradientNorm: tf.Tensor2D): tf.Tensor {
  const norm = tf.sqrt(tf.addN(Object.values(gradients).map(sumOfSquares)));
  return tf.minimum(1, tf.div(maxGradientNorm, tf.add(norm, 1e-6)));
}

/** Sets the moments and the count of updates back to zero; the parameters stay. */
export function resetOptimizer(state: Optimized): void {
  for (const moments of [state.gradientSums, state.squareSums])
    for (const name of namesOf(moments)) {
      const zeros = tf.zerosLike(moments[name]);
      moments[name].dispose();
      moments[name] = zeros;
    }
  state.updates = 0;
}

/** Frees parameters and moments; the state must not be used after. */
export function disposeOptimized(state: Optimized): void {
  tf.dispose([state.parameters, state.gradientSums, state.squareSums]);
}
