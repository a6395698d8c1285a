import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { InputError } from '../src/errors.ts';
import { adamUpdate, resetOptimizer, type Tensors } from '../src/tensor/adam.ts';
import type { MlpName } from '../src/tensor/mlp.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';
import type { Pairs } from './gail.ts';
import { type BlockMasks, blockMasks, type PolicyValue, policyValueBackward, policyValueForward } from './ppo.ts';

export const behaviorCloningSchema = z.strictObject({
  epochs: z.int().min(1).default(50).describe('passes over the demonstrated pairs'),
  batchSize: z.int().min(1).default(64),
  learningRate: z.number().positive().default(1e-3).describe('of Adam'),
});
export type BehaviorCloningConfig = z.infer<typeof behaviorCloningSchema>;

/** Pairs to copy, each with the weight of its expert; pairs to avoid are not copied. */
export type WeightedPairs = Pairs & { readonly weights: Float32Array };

/**
 * Maximum likelihood of the demonstrated actions (Pomerleau 1991): trains the policy half of the network in place; the
 * value half gets no gradient. The same pairs for every member, in an order of its own. The optimiser is left as new:
 * what trains the network next starts Adam from nothing, for the value half too.
 */
export function cloneBehavior(
  agent: PolicyValue,
  pairs: WeightedPairs,
  options: { observations: RowTable; config: BehaviorCloningConfig; randoms: readonly Random[] },
): void {
  const { observations, config, randoms } = options;
  const members = randoms.length;
  const count = pairs.rows.length;
  if (count === 0)
    throw new InputError('there is nothing to copy: the demonstrations have no state-action pair; give longer threads');
  const batch = Math.min(config.batchSize, count);
  const [, , outputs] = agent.parameters.w3.shape;
  const masks = blockMasks({ hidden: agent.parameters.w2.shape[1] / 2, actions: outputs - 1 });
  for (let epoch = 0; epoch < config.epochs; epoch++) {
    const orders = randoms.map((random) => random.permutation(count));
    for (let start = 0; start + batch <= count; start += batch) {
      const chosen = Int32Array.from(
        { length: members * batch },
        (_, i) => orders[Math.floor(i / batch)][start + (i % batch)],
      );
      const gradients = tf.tidy(() =>
        cloningGradients(agent.parameters, {
          observations: observations.gather(
            chosen.map((pair) => pairs.rows[pair]),
            members,
          ),
          actions: Array.from(chosen, (pair) => pairs.actions[pair]),
          weights: Float32Array.from(chosen, (pair) => pairs.weights[pair] / batch),
          blockMasks: masks,
        }),
      );
      adamUpdate(agent, gradients, {
        learningRates: Array<number>(members).fill(config.learningRate),
        epsilon: 1e-8,
      });
    }
  }
  tf.dispose(masks);
  resetOptimizer(agent);
}

/** Gradient of −Σ weight · log π(action); `weights` and `actions` are [members · rows]. */
function cloningGradients(
  parameters: Tensors<MlpName>,
  batch: { observations: tf.Tensor3D; actions: readonly number[]; weights: Float32Array; blockMasks: BlockMasks },
): Tensors<MlpName> {
  const { activations, logProbabilities } = policyValueForward(parameters, batch.observations);
  const [members, rows, actions] = logProbabilities.shape;
  const oneHot = new Float32Array(members * rows * actions);
  for (const [row, action] of batch.actions.entries()) oneHot[row * actions + action] = 1;
  const logitGradient = tf.mul(
    tf.sub(tf.exp(logProbabilities), tf.tensor3d(oneHot, [members, rows, actions])),
    tf.tensor3d(batch.weights, [members, rows, 1]),
  );
  const outputGradient = tf.concat([logitGradient, tf.zeros([members, rows, 1])], 2) as tf.Tensor3D;
  return policyValueBackward(parameters, {
    observations: batch.observations,
    activations,
    outputGradient,
    blockMasks: batch.blockMasks,
  });
}
