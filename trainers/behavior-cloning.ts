import * as tf from '@tensorflow/tfjs-core';
import { InputError } from '../src/errors.ts';
import { descent } from '../src/tensor/descent.ts';
import type { MlpName, Tensors } from '../src/tensor/operations.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';
import type { BehaviorCloningConfig } from './config.ts';
import type { Pairs } from './discriminator.ts';
import { type BlockMasks, masked, type PolicyValue, policyForward } from './policy-value.ts';

/*
 * Behaviour cloning (Pomerleau 1991): maximum likelihood of the demonstrated actions. A critic beside the policy gets no
 * gradient.
 */

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
  options: { states: RowTable; config: BehaviorCloningConfig; random: Random },
): Promise<number> {
  const { states, config, random } = options;
  const count = pairs.rows.length;
  if (count === 0)
    throw new InputError(
      'there is nothing to copy: the demonstrations have no state-action pair of the conservative or the early-action expert; give more demonstration threads, or longer ones',
    );
  const batch = Math.min(config.batchSize, count);
  const updates = Math.floor(count / batch);
  const order = random.permutation(count).subarray(0, updates * batch);
  const weights = new Float32Array(order.length * 2);
  for (const [row, pair] of order.entries()) weights[row * 2 + pairs.actions[pair]] = pairs.weights[pair] / batch;
  const { outputs } = await descendCloning(network, {
    count: updates,
    batches: {
      observations: { states, rows: order.map((pair) => pairs.rows[pair]) },
      weights: { numbers: weights, width: 2 },
    },
    shared: { blockMasks: network.blockMasks },
    adam: { learningRate: config.learningRate, epsilon: 1e-8 },
  });
  return outputs.loss.reduce((sum, loss) => sum + loss, 0) / updates;
}

type CloningMinibatch = {
  readonly observations: tf.Tensor2D;
  /** The weight of a demonstrated action, 0 of the other: [rows, 2]. */
  readonly weights: tf.Tensor2D;
};

/** −Σ weight · log π(action). */
const descendCloning = descent(
  (
    parameters: Tensors<MlpName>,
    { observations, weights }: CloningMinibatch,
    { blockMasks }: { blockMasks: BlockMasks | null },
  ) => {
    const logProbabilities = policyForward(masked(parameters, blockMasks), observations, { actions: 2 });
    const loss = tf.neg(tf.sum<tf.Tensor2D>(tf.mul(logProbabilities, weights), [0, 1], true));
    return { loss, outputs: { loss } };
  },
  () => ({}),
);
