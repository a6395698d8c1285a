import * as tf from '@tensorflow/tfjs-core';
import { perMember } from './population-ops.ts';

/*
 * Adam (Kingma & Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1) in two forms: `adamUpdate`
 * on the tensors of a population, `adamUpdateArrays` on one flat vector for models too small to be worth a tensor. Both
 * use the paper's decay rates β₁ = 0.9 and β₂ = 0.999 and add epsilon outside the root of the corrected second moment,
 * as PyTorch does.
 */

/** Tensors by name, all [members, rows, columns]. */
export type Tensors<Name extends string = string> = Record<Name, tf.Tensor3D>;

/** Parameters with their Adam moments. Owns its tensors; `disposeOptimized` frees them. */
export interface Optimized<Name extends string = string> {
  parameters: Tensors<Name>;
  firstMoments: Tensors<Name>;
  secondMoments: Tensors<Name>;
  /** Updates done, for the bias correction. */
  updates: number;
}

/** Settings of one update, one number a member where members may differ. */
export interface AdamOptions {
  /** One learning rate a member. */
  readonly learningRates: readonly number[];
  readonly epsilon: number;
  /** A member's gradients are scaled down to this norm over all its parameters, if they exceed it. */
  readonly maxGradientNorm?: readonly number[];
}

const beta1 = 0.9;
const beta2 = 0.999;

/** 1 − βᵗ of both moments: they start at zero, and dividing by these undoes the pull towards it. */
function biasCorrections(updates: number): { first: number; second: number } {
  return { first: 1 - beta1 ** updates, second: 1 - beta2 ** updates };
}

/** Parameters before their first update. Takes ownership of `parameters`. */
export function optimized<Name extends string>(parameters: Tensors<Name>): Optimized<Name> {
  return {
    parameters,
    firstMoments: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    secondMoments: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    updates: 0,
  };
}

/**
 * One Adam step downhill for every member. The bias corrections are folded into step size and epsilon (the paper's §2,
 * last paragraph), which spares the device two divisions a tensor. Replaces the tensors in `state` and disposes of
 * `gradients`, which have the shapes of the parameters.
 */
export function adamUpdate<Name extends string>(
  state: Optimized<Name>,
  gradients: Tensors<Name>,
  options: AdamOptions,
): void {
  state.updates++;
  const corrections = biasCorrections(state.updates);
  const rootOfSecond = Math.sqrt(corrections.second);
  tf.tidy(() => {
    const stepSize = perMember(options.learningRates.map((rate) => (rate * rootOfSecond) / corrections.first));
    const epsilon = options.epsilon * rootOfSecond;
    const scale = options.maxGradientNorm ? clipScale(gradients, options.maxGradientNorm) : null;
    for (const name of namesOf(state.parameters)) {
      const gradient = scale === null ? gradients[name] : tf.mul(gradients[name], scale);
      const first = state.firstMoments[name];
      const second = state.secondMoments[name];
      const newFirst = tf.add<tf.Tensor3D>(first, tf.mul(tf.sub(gradient, first), 1 - beta1));
      const newSecond = tf.add<tf.Tensor3D>(second, tf.mul(tf.sub(tf.square(gradient), second), 1 - beta2));
      const step = tf.mul(tf.div(newFirst, tf.add(tf.sqrt(newSecond), epsilon)), stepSize);
      const updated = tf.sub<tf.Tensor3D>(state.parameters[name], step);
      replace(state.firstMoments, name, newFirst);
      replace(state.secondMoments, name, newSecond);
      replace(state.parameters, name, updated);
    }
  });
  tf.dispose(gradients);
}

/** Parameters on one flat vector with their Adam moments, each [parameters]. */
export interface OptimizedArrays {
  readonly parameters: Float64Array;
  readonly firstMoments: Float64Array;
  readonly secondMoments: Float64Array;
  /** Updates done, for the bias correction. */
  updates: number;
}

/** Parameters before their first update. The array is kept, not copied, and updated in place. */
export function optimizedArrays(parameters: Float64Array): OptimizedArrays {
  const zeros = () => new Float64Array(parameters.length);
  return { parameters, firstMoments: zeros(), secondMoments: zeros(), updates: 0 };
}

/**
 * One Adam step downhill, in place; a negative learning rate goes uphill.
 * @param options.gradient [parameters]
 */
export function adamUpdateArrays(
  state: OptimizedArrays,
  options: { gradient: Float64Array; learningRate: number; epsilon: number },
): void {
  const { parameters, firstMoments, secondMoments } = state;
  const { gradient, learningRate, epsilon } = options;
  state.updates++;
  const corrections = biasCorrections(state.updates);
  for (let index = 0; index < parameters.length; index++) {
    const slope = gradient[index];
    firstMoments[index] += (1 - beta1) * (slope - firstMoments[index]);
    secondMoments[index] += (1 - beta2) * (slope ** 2 - secondMoments[index]);
    const size = Math.sqrt(secondMoments[index] / corrections.second) + epsilon;
    parameters[index] -= (learningRate * firstMoments[index]) / corrections.first / size;
  }
}

/** min(1, max / ‖g‖) for each member, [members, 1, 1]. */
function clipScale(gradients: Tensors, maxGradientNorm: readonly number[]): tf.Tensor {
  const squares = Object.values(gradients).map((gradient) => tf.sum(tf.square(gradient), [1, 2], true));
  const norm = tf.sqrt(tf.addN(squares));
  return tf.minimum(1, tf.div(perMember(maxGradientNorm), tf.add(norm, 1e-6)));
}

function replace<Name extends string>(tensors: Tensors<Name>, name: Name, next: tf.Tensor3D): void {
  tensors[name].dispose();
  tensors[name] = tf.keep(next);
}

/** The names of a record of tensors, in the order of its keys. */
export function namesOf<Name extends string>(tensors: Tensors<Name>): Name[] {
  return Object.keys(tensors) as Name[];
}

/** `f` of every tensor, by the same names. The inputs are left alone; the results belong to the caller. */
export function mapTensors<Name extends string>(
  tensors: Tensors<Name>,
  f: (tensor: tf.Tensor3D, name: Name) => tf.Tensor3D,
): Tensors<Name> {
  return Object.fromEntries(namesOf(tensors).map((name) => [name, f(tensors[name], name)])) as Tensors<Name>;
}

/** Sets the moments and the count of updates back to zero; the parameters stay. */
export function resetOptimizer(state: Optimized): void {
  for (const moments of [state.firstMoments, state.secondMoments])
    for (const name of namesOf(moments)) {
      const zeros = tf.zerosLike(moments[name]);
      moments[name].dispose();
      moments[name] = zeros;
    }
  state.updates = 0;
}

/** Frees parameters and moments; the state must not be used after. */
export function disposeOptimized(state: Optimized): void {
  tf.dispose([state.parameters, state.firstMoments, state.secondMoments]);
}
