import * as tf from '@tensorflow/tfjs-core';
import { perMember } from './population-ops.ts';

/** Tensors by name, all [members, rows, columns]. */
export type Tensors<Name extends string = string> = Record<Name, tf.Tensor3D>;

/** Parameters with their Adam moments. Owns its tensors; `dispose` frees them. */
export interface Optimized<Name extends string = string> {
  parameters: Tensors<Name>;
  firstMoments: Tensors<Name>;
  secondMoments: Tensors<Name>;
  /** Updates done, for the bias correction. */
  updates: number;
}

export interface AdamOptions {
  /** One learning rate a member. */
  readonly learningRates: readonly number[];
  readonly epsilon: number;
  /** Gradients of a member are scaled to at most this global norm. */
  readonly maxGradientNorm?: readonly number[];
}

const beta1 = 0.9;
const beta2 = 0.999;

export function optimized<Name extends string>(parameters: Tensors<Name>): Optimized<Name> {
  return {
    parameters,
    firstMoments: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    secondMoments: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    updates: 0,
  };
}

/**
 * One Adam update (Kingma & Ba 2015, with the bias correction folded into the step size as in Algorithm 1's note, and
 * epsilon outside the root of the corrected moment as PyTorch has it). Takes ownership of `gradients`.
 */
export function adamUpdate<Name extends string>(
  state: Optimized<Name>,
  gradients: Tensors<Name>,
  options: AdamOptions,
): void {
  state.updates++;
  const correction1 = 1 - beta1 ** state.updates;
  const correction2 = Math.sqrt(1 - beta2 ** state.updates);
  tf.tidy(() => {
    const stepSize = perMember(options.learningRates.map((rate) => (rate * correction2) / correction1));
    const epsilon = options.epsilon * correction2;
    const scale = options.maxGradientNorm ? clipScale(gradients, options.maxGradientNorm) : null;
    for (const name of namesOf(state.parameters)) {
      const gradient = scale === null ? gradients[name] : tf.mul(gradients[name], scale);
      const first = state.firstMoments[name];
      const second = state.secondMoments[name];
      const newFirst = tf.add(first, tf.mul(tf.sub(gradient, first), 1 - beta1)) as tf.Tensor3D;
      const newSecond = tf.add(second, tf.mul(tf.sub(tf.square(gradient), second), 1 - beta2)) as tf.Tensor3D;
      const step = tf.mul(tf.div(newFirst, tf.add(tf.sqrt(newSecond), epsilon)), stepSize);
      const updated = tf.sub(state.parameters[name], step) as tf.Tensor3D;
      replace(state.firstMoments, name, newFirst);
      replace(state.secondMoments, name, newSecond);
      replace(state.parameters, name, updated);
    }
  });
  tf.dispose(gradients);
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

export function namesOf<Name extends string>(tensors: Tensors<Name>): Name[] {
  return Object.keys(tensors) as Name[];
}

export function mapTensors<Name extends string>(
  tensors: Tensors<Name>,
  f: (tensor: tf.Tensor3D, name: Name) => tf.Tensor3D,
): Tensors<Name> {
  return Object.fromEntries(namesOf(tensors).map((name) => [name, f(tensors[name], name)])) as Tensors<Name>;
}

/** Forgets the moments and the count of updates; the parameters stay. */
export function resetOptimizer(state: Optimized): void {
  for (const moments of [state.firstMoments, state.secondMoments])
    for (const name of namesOf(moments)) {
      const zeros = tf.zerosLike(moments[name]);
      moments[name].dispose();
      moments[name] = zeros;
    }
  state.updates = 0;
}

export function disposeOptimized(state: Optimized): void {
  tf.dispose([state.parameters, state.firstMoments, state.secondMoments]);
}
