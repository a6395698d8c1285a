import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { InputError } from '../src/errors.ts';
import { adamUpdate, type Tensors } from '../src/tensor/adam.ts';
import type { MlpName } from '../src/tensor/mlp.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTables } from '../src/tensor/row-tables.ts';
import type { Pairs } from './gail.ts';
import { type PolicyValue, policyValueBackward, policyValueForward } from './policy-value.ts';

/*
 * Behaviour cloning (Pomerleau 1991): maximum likelihood of the demonstrated actions. Trains the policy half of a network
 * of one member; the value half gets no gradient.
 */

export const behaviorCloningSchema = z.strictObject({
  epochs: z.int().min(1).default(50).describe('passes over the demonstrated pairs'),
  batchSize: z.int().min(1).default(64).describe('pairs in a minibatch'),
  learningRate: z.number().positive().default(1e-3).describe('of Adam'),
});
export type BehaviorCloningConfig = z.infer<typeof behaviorCloningSchema>;

/** Pairs to copy, each with its weight; [pairs] each. */
export type WeightedPairs = Pairs & { readonly weights: Float32Array };

/** Conservative pairs with weight α, early-action ones with weight β; misleading ones are not copied. */
export function pairsToCopy(options: {
  conservative: Pairs;
  earlyAction: Pairs;
  weights: { readonly alpha: number; readonly beta: number };
}): WeightedPairs {
  const { conservative, earlyAction, weights } = options;
  const weightOf = ({ rows }: Pairs, weight: number) => Array<number>(rows.length).fill(weight);
  return {
    rows: Int32Array.from([...conservative.rows, ...earlyAction.rows]),
    actions: Uint8Array.from([...conservative.actions, ...earlyAction.actions]),
    weights: Float32Array.from([...weightOf(conservative, weights.alpha), ...weightOf(earlyAction, weights.beta)]),
  };
}

/**
 * One pass over the pairs in a random order. Returns their mean weighted negative log-likelihood, in nats, before each
 * update.
 * @throws InputError where there are no pairs
 */
export async function cloneEpoch(
  network: PolicyValue,
  pairs: WeightedPairs,
  options: { states: RowTables; config: BehaviorCloningConfig; random: Random },
): Promise<number> {
  const { states, config, random } = options;
  const count = pairs.rows.length;
  if (count === 0)
    throw new InputError(
      'there is nothing to copy: the demonstrations have no state-action pair of the conservative or the early-action expert; give more demonstration threads, or longer ones',
    );
  const batch = Math.min(config.batchSize, count);
  const order = random.permutation(count);
  const losses: tf.Scalar[] = [];
  for (let start = 0; start + batch <= count; start += batch) {
    const chosen = order.subarray(start, start + batch);
    const { gradients, loss } = tf.tidy(() =>
      cloningGradients(network, {
        observations: states.gather([chosen.map((pair) => pairs.rows[pair])]),
        actions: Array.from(chosen, (pair) => pairs.actions[pair]),
        weights: Float32Array.from(chosen, (pair) => pairs.weights[pair] / batch),
      }),
    );
    losses.push(loss);
    adamUpdate(network, gradients, { learningRates: [config.learningRate], epsilon: 1e-8 });
  }
  const mean = tf.tidy(() => tf.mean(tf.stack(losses)));
  const [value] = await mean.data();
  tf.dispose([mean, losses]);
  return value;
}

/** The loss −Σ weight · log π(action) and its gradient; `weights` and `actions` are [rows]. */
function cloningGradients(
  network: PolicyValue,
  batch: { observations: tf.Tensor3D; actions: readonly number[]; weights: Float32Array },
): { gradients: Tensors<MlpName>; loss: tf.Scalar } {
  const { activations, logProbabilities } = policyValueForward(network.parameters, batch.observations);
  const [members, rows, actions] = logProbabilities.shape;
  const oneHot = new Float32Array(rows * actions);
  for (const [row, action] of batch.actions.entries()) oneHot[row * actions + action] = 1;
  const demonstrated = tf.tensor3d(oneHot, [members, rows, actions]);
  const weights = tf.tensor3d(batch.weights, [members, rows, 1]);
  const logitGradient = tf.mul(tf.sub(tf.exp(logProbabilities), demonstrated), weights);
  const outputGradient = tf.concat([logitGradient, tf.zeros([members, rows, 1])], 2) as tf.Tensor3D;
  return {
    gradients: policyValueBackward(network, { observations: batch.observations, activations, outputGradient }),
    loss: tf.reshape(tf.neg(tf.sum(tf.mul(tf.mul(logProbabilities, demonstrated), weights))), []),
  };
}
