import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import type { Tensors } from '../src/tensor/adam.ts';
import type { MlpName } from '../src/tensor/mlp.ts';
import { type PolicyValue, policyValueBackward, policyValueForward } from './policy-value.ts';
import { chainValues, visitProbabilities } from './stopping-chain.ts';

/*
 * The task's own return on labelled threads: what the detector's judgement at the stop is worth, less the delay and the
 * calls of the detector. The states of a thread and the worth of stopping at each are known, so the expected return of a
 * policy is a closed form,
 *
 *   J = Σ_k S_k p_k R_k,   S_k = Π_{j<k} (1 − p_j),   p_k = π(stop | s_k),   p = 1 at the last step,
 *
 * and so is its gradient: with V_k = p_k R_k + (1 − p_k) V_{k+1}, ∂J/∂z_k = S_k p_k (1 − p_k) (R_k − V_{k+1}) for the stop
 * logit z_k. Nothing is sampled: fifty threads are few enough that the noise of rollouts would drown the signal.
 */

export const taskSchema = z.strictObject({
  target: z
    .enum(['right', 'probability'])
    .default('probability')
    .describe(
      "what a stop is worth: 1 if the detector is right there, or the detector's probability of the right label",
    ),
  delayCost: z.number().min(0).default(0.2).describe('subtracted from the worth of a stop: this × share of posts used'),
  callCost: z.number().min(0).default(0).describe('subtracted as well: this × calls of the detector up to the stop'),
  environment: z
    .enum(['left-out', 'pseudo-labelled'])
    .default('left-out')
    .describe(
      'pseudo-labelled: the environment’s threads count, too, each with the label that its last judgement gives: more threads, no labels, and calls of the detector in training',
    ),
  control: z
    .enum(['none', 'shuffled-labels'])
    .default('none')
    .describe('shuffled-labels: the labelled threads swap their labels, so that there is nothing to learn from them'),
  updates: z.int().min(1).default(4).describe('steps up the return in each iteration'),
  learningRate: z.number().positive().default(3e-4).describe('of Adam; falls to 0 at the last iteration'),
});
export type TaskConfig = z.infer<typeof taskSchema>;

/** J and ∂J/∂z of one thread; `stopProbability` and `worth` are [steps]. */
export function expectedReturn(
  stopProbability: ArrayLike<number>,
  worth: ArrayLike<number>,
): { value: number; gradient: Float64Array } {
  const chain = { steps: worth.length, goesOn: false };
  // Whoever has not stopped by the last post is judged there.
  const continueRewards = new Float64Array(worth.length);
  continueRewards[worth.length - 1] = worth[worth.length - 1];
  const visits = visitProbabilities(chain, stopProbability);
  const { values, ofStopping, ofContinuing } = chainValues(chain, {
    stopProbability,
    stopRewards: worth,
    continueRewards,
    discount: 1,
  });
  const gradient = visits.map((visit, step) => {
    const p = stopProbability[step];
    return visit * p * (1 - p) * (ofStopping[step] - ofContinuing[step]);
  });
  return { value: values[0], gradient };
}

/** A member's labelled threads: the worth of a stop at each step of each thread, [threads][steps]. */
export type StopWorths = readonly Float32Array[];

/**
 * The mean expected return of each member's threads before the update (NaN for a member without threads, whose gradient
 * is zero), and the gradient of −weight · mean.
 * @param options.observations states of the members' threads, one thread after the other and one row a step,
 *   [members, rows, inputs]; a member with fewer rows is padded at its end
 * @param options.worths one entry a member
 * @param options.weights one a member
 */
export async function returnGradients(
  agent: PolicyValue,
  options: { observations: tf.Tensor3D; worths: readonly StopWorths[]; weights: readonly number[] },
): Promise<{ returns: number[]; gradients: Tensors<MlpName> }> {
  const { observations, worths, weights } = options;
  const [members, rows] = observations.shape;
  const outputs = 3;
  const { activations, logProbabilities, values } = policyValueForward(agent.parameters, observations);
  const logs = await logProbabilities.data();
  const outputGradient = new Float32Array(members * rows * outputs);
  const returns = worths.map((threads, member) => {
    let row = member * rows;
    let total = 0;
    for (const worth of threads) {
      const stopProbability = Float64Array.from(worth, (_, step) => Math.exp(logs[2 * (row + step) + 1]));
      const { value, gradient } = expectedReturn(stopProbability, worth);
      total += value;
      for (let step = 0; step < worth.length; step++, row++) {
        // Adam descends; the stop logit is the difference of the two.
        const down = (-weights[member] * gradient[step]) / threads.length;
        outputGradient[row * outputs] = -down;
        outputGradient[row * outputs + 1] = down;
      }
    }
    return total / threads.length;
  });
  const gradients = tf.tidy(() =>
    policyValueBackward(agent, {
      observations,
      activations,
      outputGradient: tf.tensor3d(outputGradient, [members, rows, outputs]),
    }),
  );
  tf.dispose([activations.hidden1, activations.hidden2, activations.output, logProbabilities, values]);
  return { returns, gradients };
}
