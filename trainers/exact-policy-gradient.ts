import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { gatherRows, type MlpName, perMember, type Tensors } from '../src/tensor/batched-ops.ts';
import { descent } from '../src/tensor/descent.ts';
import { paddedCount } from '../src/tensor/onnx/compiled.ts';
import { type BlockMasks, masked, policyForward } from './policy-value.ts';

/*
 * The task's own return on labelled threads: what the detector's judgement at the stop is worth, less the delay and the
 * queries. The states of a thread and the reward of stopping at each are known, so the expected return of a
 * policy is a closed form,
 *
 *   J = Σ_k S_k p_k R_k,   S_k = Π_{j<k} (1 − p_j),   p_k = π(stop | s_k),   p = 1 at the last step.
 *
 * Nothing is sampled: fifty threads are few enough that the noise of rollouts would drown the signal.
 */

export const taskSchema = z.strictObject({
  target: z
    .enum(['right', 'probability'])
    .default('probability')
    .describe(
      "what a stop is worth: 1 if the detector is right there, or the detector's probability of the right label",
    ),
  delayCost: z.number().min(0).default(0.2).describe('subtracted from the worth of a stop: this × share of posts used'),
  queryCost: z.number().min(0).default(0).describe('subtracted as well: this × queries up to the stop'),
  environment: z
    .enum(['left-out', 'pseudo-labelled'])
    .default('left-out')
    .describe(
      'pseudo-labelled: the environment’s threads count, too, each with the label that its last judgement gives: more threads, no labels, and queries in training',
    ),
  control: z
    .enum(['none', 'shuffled-labels'])
    .default('none')
    .describe('shuffled-labels: the labelled threads swap their labels, so that there is nothing to learn from them'),
  updates: z.int().min(1).default(4).describe('steps up the return in each iteration'),
  learningRate: z.number().positive().default(3e-4).describe('of Adam; falls to 0 at the last iteration'),
});
export type TaskConfig = z.infer<typeof taskSchema>;

/** The reward of a stop at each step of each labelled thread of one member, [threads][steps]. */
export type StopRewards = readonly Float32Array[];

/** The members' labelled threads as tensors, a row a step, one thread after the other; the caller disposes them. */
export type LabelledBatch = {
  /** [members, rows, inputs]; a member with fewer rows is padded at its end. */
  readonly observations: tf.Tensor3D;
  /** Row of each step of each thread, counted over all members: [members · threads · steps of the longest], both padded. */
  readonly rows: tf.Tensor1D;
  /** R over the member's number of threads, 0 behind a thread's end; 1 before the last step, else 0: [members, threads, steps]. */
  readonly stopRewards: tf.Tensor3D;
  readonly goesOn: tf.Tensor3D;
  /** What each member's return counts in the gradient, [members, 1, 1]. */
  readonly weights: tf.Tensor3D;
};

/** Takes ownership of the observations. A member may have no threads. */
export function labelledBatch(
  observations: tf.Tensor3D,
  { stopRewards, weights }: { stopRewards: readonly StopRewards[]; weights: readonly number[] },
): LabelledBatch {
  const [members, rows] = observations.shape;
  // Sums of so many round alike whatever zeros stand behind them, so longer members do not change a return.
  const threads = paddedCount(Math.max(...stopRewards.map(({ length }) => length)));
  const longest = paddedCount(Math.max(...stopRewards.flat().map(({ length }) => length)));
  const shape: [number, number, number] = [members, threads, longest];
  const rowOf = new Int32Array(members * threads * longest);
  const rewards = new Float32Array(rowOf.length);
  const goesOn = new Float32Array(rowOf.length);
  for (const [member, own] of stopRewards.entries()) {
    let row = member * rows;
    for (const [thread, rewardsOfThread] of own.entries())
      for (const [step, reward] of rewardsOfThread.entries()) {
        const place = (member * threads + thread) * longest + step;
        rowOf[place] = row;
        rewards[place] = reward / own.length;
        goesOn[place] = Number(step < rewardsOfThread.length - 1);
        row++;
      }
  }
  return {
    observations,
    rows: tf.tensor1d(rowOf, 'int32'),
    stopRewards: tf.tensor3d(rewards, shape),
    goesOn: tf.tensor3d(goesOn, shape),
    weights: perMember(weights),
  };
}

/** J of each policy on labelled threads. */
export function returnsOf(network: Tensors<MlpName>, labelled: LabelledBatch): tf.Tensor3D {
  return expectedReturns(policyForward(network, labelled.observations, { actions: 2 }), labelled);
}

/**
 * J of each member, the mean over its threads: [members, 1, 1]; 0 without threads.
 * @param logProbabilities of both actions in each row, [members, rows, 2]
 */
export function expectedReturns(
  logProbabilities: tf.Tensor3D,
  { rows, stopRewards, goesOn }: Omit<LabelledBatch, 'observations'>,
): tf.Tensor3D {
  const ofSteps = gatherRows(logProbabilities, rows);
  // Whoever has not stopped by the last post is judged there: log p = 0.
  const logOf = (action: number) => {
    const own = tf.slice(ofSteps, [0, 0, action], [ofSteps.shape[0], ofSteps.shape[1], 1]);
    return tf.mul<tf.Tensor3D>(tf.reshape(own, goesOn.shape), goesOn);
  };
  const logReached = tf.cumsum(logOf(0), 2, true);
  const stopping = tf.exp(tf.add(logReached, logOf(1)));
  return tf.sum(tf.sum(tf.mul<tf.Tensor3D>(stopping, stopRewards), 2, true), 1, true);
}

/** Climbs the expected returns; a batch is empty, for every update takes all threads. */
export const climbReturns = descent<
  MlpName,
  object,
  { blockMasks: BlockMasks | null; task: LabelledBatch },
  { returns: tf.Tensor3D },
  null
>(
  (parameters, _, { blockMasks, task }) => {
    const returns = returnsOf(masked(parameters, blockMasks), task);
    return { loss: tf.neg(tf.mul(returns, task.weights)), seen: { returns } };
  },
  () => null,
);
