import * as tf from '@tensorflow/tfjs-core';
import type { Tensors } from './adam.ts';
import { matMul, sumRows, tanh, tanhDerivative } from './population-ops.ts';

/*
 * A perceptron with two hidden tanh layers, the network of Ho & Ermon ("Generative Adversarial Imitation Learning",
 * 2016) and of EARD, with its gradients written out. A training step then launches about a hundred kernels, where
 * automatic differentiation launches three times as many; the tests compare the two. The first layer's product is left
 * to the caller, who knows how the input is composed.
 *
 *   z₁ = x·w1 + b1,  h₁ = tanh z₁,  h₂ = tanh(h₁·w2 + b2),  output = h₂·w3 + b3
 *
 * Weights are [members, in, out] and biases [members, 1, out].
 */

/** Parameters above the first layer's product. */
export type UpperName = 'w2' | 'b2' | 'w3' | 'b3';
/** All parameters. */
export type MlpName = 'w1' | 'b1' | UpperName;

/** What a forward pass computes; the backward pass needs all of it. */
export type Activations = {
  /** h₁, [members, rows, hidden]; `hidden2`: h₂, the same shape. */
  readonly hidden1: tf.Tensor3D;
  readonly hidden2: tf.Tensor3D;
  /** [members, rows, outputs], without an activation. */
  readonly output: tf.Tensor3D;
};

/**
 * From z₁, [members, rows, hidden], to the output.
 * @returns tensors that the caller disposes
 */
export function upperForward(parameters: Tensors<UpperName>, preActivation1: tf.Tensor3D): Activations {
  const hidden1 = tanh(preActivation1);
  const { hidden2, output } = tf.tidy(() => {
    const hidden2 = tanh(tf.add(matMul(hidden1, parameters.w2), parameters.b2));
    return { hidden2, output: tf.add<tf.Tensor3D>(matMul(hidden2, parameters.w3), parameters.b3) };
  });
  return { hidden1, hidden2, output };
}

/**
 * Gradients of a loss with respect to the upper parameters and z₁, given its gradient with respect to the output,
 * [members, rows, outputs]. Summed over rows, as the loss is.
 * @returns tensors that the caller disposes
 */
export function upperBackward(
  parameters: Tensors<UpperName>,
  { hidden1, hidden2 }: Activations,
  outputGradient: tf.Tensor3D,
): { gradients: Tensors<UpperName>; preActivation1Gradient: tf.Tensor3D } {
  return tf.tidy(() => {
    const z2Gradient = tf.mul<tf.Tensor3D>(
      matMul(outputGradient, parameters.w3, { transposeRight: true }),
      tanhDerivative(hidden2),
    );
    return {
      gradients: {
        w2: matMul(hidden1, z2Gradient, { transposeLeft: true }),
        b2: sumRows(z2Gradient),
        w3: matMul(hidden2, outputGradient, { transposeLeft: true }),
        b3: sumRows(outputGradient),
      },
      preActivation1Gradient: tf.mul(
        matMul(z2Gradient, parameters.w2, { transposeRight: true }),
        tanhDerivative(hidden1),
      ),
    };
  });
}
