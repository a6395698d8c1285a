import * as tf from '@tensorflow/tfjs-core';
import { descent } from '../src/tensor/descent.ts';
import { paddedCount } from '../src/tensor/graph/compiled.ts';
import {
  gatherRows,
  type MlpName,
  single,
  sliceColumns,
  sumColumns,
  sumRows,
  type Tensors,
} from '../src/tensor/operations.ts';
import { gathered, type TakenRows } from '../src/tensor/row-table.ts';
import { policyForward } from './policy-value.ts';

/*
 * The task's own return on labelled threads: what the detector's judgement at the stop is worth, less the delay and the
 * queries. The states of a thread and the reward of stopping at each are known, so the expected return of a
 * policy is a closed form,
 *
 *   J = Σ_k S_k p_k R_k,   S_k = Π_{j<k} (1 − p_j),   p_k = π(stop | s_k),   p = 1 at the last step.
 *
 * Nothing is sampled: fifty threads are few enough that the noise of rollouts would drown the signal.
 */

/** The reward of a stop at each step of each labelled thread, [threads][steps]. */
export type StopRewards = readonly Float32Array[];

/** Labelled threads as tensors, a row a step, one thread after the other; the caller disposes them. */
export type LabelledBatch = {
  /** Padded at the end. */
  readonly observations: TakenRows;
  /** Row of each step of each thread: [threads · steps of the longest], both padded. */
  readonly rows: tf.Tensor1D;
  /** R over the number of threads, 0 behind a thread's end; 1 before the last step, else 0: [threads, steps]. */
  readonly stopRewards: tf.Tensor2D;
  readonly goesOn: tf.Tensor2D;
  /** The weight of the return in the gradient, [1, 1]. */
  readonly weight: tf.Tensor2D;
};

/** Takes ownership of the observations. */
export function labelledBatch(
  observations: TakenRows,
  { stopRewards, weight }: { stopRewards: StopRewards; weight: number },
): LabelledBatch {
  const threads = paddedCount(stopRewards.length);
  const longest = paddedCount(Math.max(...stopRewards.map(({ length }) => length)));
  const shape: [number, number] = [threads, longest];
  const rowOf = new Int32Array(threads * longest);
  const rewards = new Float32Array(rowOf.length);
  const goesOn = new Float32Array(rowOf.length);
  let row = 0;
  for (const [thread, rewardsOfThread] of stopRewards.entries())
    for (const [step, reward] of rewardsOfThread.entries()) {
      const place = thread * longest + step;
      rowOf[place] = row;
      rewards[place] = reward / stopRewards.length;
      goesOn[place] = Number(step < rewardsOfThread.length - 1);
      row++;
    }
  return {
    observations,
    rows: tf.tensor1d(rowOf, 'int32'),
    stopRewards: tf.tensor2d(rewards, shape),
    goesOn: tf.tensor2d(goesOn, shape),
    weight: single(weight),
  };
}

export function disposeLabelled({ observations: _, ...others }: LabelledBatch): void {
  tf.dispose(others);
}

/** J of a policy on labelled threads. */
export function returnOf(network: Tensors<MlpName>, labelled: LabelledBatch): tf.Tensor2D {
  return expectedReturn(policyForward(network, gathered(labelled.observations), { actions: 2 }), labelled);
}

/**
 * J, the mean over the threads: [1, 1].
 * @param logProbabilities of both actions in each row, [rows, 2]
 */
export function expectedReturn(
  logProbabilities: tf.Tensor2D,
  { rows, stopRewards, goesOn }: Omit<LabelledBatch, 'observations'>,
): tf.Tensor2D {
  const ofSteps = gatherRows(logProbabilities, rows);
  // Whoever has not stopped by the last post is judged there: log p = 0.
  const logOf = (action: number) =>
    tf.mul<tf.Tensor2D>(tf.reshape(sliceColumns(ofSteps, action, 1), goesOn.shape), goesOn);
  const logReached = tf.cumsum(logOf(0), 1, true);
  const stopping = tf.exp(tf.add(logReached, logOf(1)));
  return sumRows(sumColumns(tf.mul(stopping, stopRewards)));
}

/** Climbs the expected return. A batch is empty, for every update takes all threads. */
export const climbReturn = descent(
  (parameters: Tensors<MlpName>, _: object, { task }: { task: LabelledBatch }) => {
    const expected = returnOf(parameters, task);
    return { loss: tf.neg(tf.mul(expected, task.weight)), outputs: { expected } };
  },
  () => ({}),
);
