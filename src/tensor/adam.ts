import * as tf from '@tensorflow/tfjs-core';
import { mapTensors, namesOf, perMember, sumOfSquares, type Tensors } from './batched-ops.ts';

/*
 * Adam (Kingma & Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1) on the tensors of batched runs. It uses
 * the paper's decay rates β₁ = 0.9 and β₂ = 0.999 and adds epsilon outside the root of the corrected second moment, as PyTorch does.
 */

/** Parameters with their Adam moments. Owns its tensors; `disposeOptimized` frees them, `descent` (descent.ts) moves them. */
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
    firstMoments: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    secondMoments: mapTensors(parameters, (tensor) => tf.zerosLike(tensor)),
    updates: 0,
  };
}

/** What an update moves. */
export type Moving<Name extends string = string> = Pick<
  Optimized<Name>,
  'parameters' | 'firstMoments' | 'secondMoments'
>;

/** The numbers of one step as tensors, so that a compiled step takes others each time. */
export interface AdamStep {
  /** [members, 1, 1]. */
  readonly stepSize: tf.Tensor3D;
  readonly epsilon: tf.Scalar;
  /** [members, 1, 1]; null for gradients as they are. */
  readonly maxGradientNorm: tf.Tensor3D | null;
}

/**
 * Counts an update and returns its numbers, which the caller disposes. The bias corrections are folded into step size and epsilon
 * (the paper's §2, last paragraph), which spares the device two divisions a tensor.
 */
export function nextAdamStep(state: Optimized, options: AdamOptions): AdamStep {
  state.updates++;
  const corrections = biasCorrections(state.updates);
  const rootOfSecond = Math.sqrt(corrections.second);
  return {
    stepSize: perMember(options.learningRates.map((rate) => (rate * rootOfSecond) / corrections.first)),
    epsilon: tf.scalar(options.epsilon * rootOfSecond),
    maxGradientNorm: options.maxGradientNorm ? perMember(options.maxGradientNorm) : null,
  };
}

/** One Adam step downhill for every member; `gradients` have the shapes of the parameters. Call it in a tidy. */
export function adamStep<Name extends string>(
  { parameters, firstMoments, secondMoments }: Moving<Name>,
  gradients: Tensors<Name>,
  { stepSize, epsilon, maxGradientNorm }: AdamStep,
): Moving<Name> {
  const scale = maxGradientNorm === null ? null : clipScale(gradients, maxGradientNorm);
  const clipped = mapTensors(gradients, (own) => (scale === null ? own : tf.mul(own, scale)));
  const towards = (old: tf.Tensor3D, aim: tf.Tensor3D, rate: number) =>
    tf.add<tf.Tensor3D>(old, tf.mul(tf.sub(aim, old), rate));
  const first = mapTensors(firstMoments, (old, name) => towards(old, clipped[name], 1 - beta1));
  const second = mapTensors(secondMoments, (old, name) => towards(old, tf.square(clipped[name]), 1 - beta2));
  return {
    parameters: mapTensors(parameters, (old, name) =>
      tf.sub(old, tf.mul(tf.div(first[name], tf.add(tf.sqrt(second[name]), epsilon)), stepSize)),
    ),
    firstMoments: first,
    secondMoments: second,
  };
}

/** Puts moved tensors in the place of those that the state has, which are disposed. */
export function adopt<Name extends string>(state: Optimized<Name>, moved: Moving<Name>): void {
  const { parameters, firstMoments, secondMoments } = state;
  tf.dispose([parameters, firstMoments, secondMoments]);
  Object.assign(state, moved);
}

/** min(1, max / ‖g‖) for each member, [members, 1, 1]. */
function clipScale(gradients: Tensors, maxGradientNorm: tf.Tensor3D): tf.Tensor {
  const norm = tf.sqrt(tf.addN(Object.values(gradients).map(sumOfSquares)));
  return tf.minimum(1, tf.div(maxGradientNorm, tf.add(norm, 1e-6)));
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
