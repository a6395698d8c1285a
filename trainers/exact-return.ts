import * as tf from '@tensorflow/tfjs-core';
import { CONTINUE, type StateTable, stateRow } from '../envs/state-table.ts';
import { adamUpdate } from '../src/tensor/adam.ts';
import type { RowTable } from '../src/tensor/row-table.ts';
import { type BlockMasks, type PolicyValue, policyValueBackward, policyValueForward } from './ppo.ts';

/*
 * The task's own return, on the labelled threads: what the detector's judgement at the stop is worth, less the delay. The
 * states of a thread and the worth of stopping at each are known, so the expected return of a policy is a closed form,
 *
 *   J = Σ_k S_k p_k R_k,   S_k = Π_{j<k} (1 − p_j),   p_k = π(stop | s_k),   p = 1 at the last post,
 *
 * and so is its gradient: with V_k = p_k R_k + (1 − p_k) V_{k+1}, ∂J/∂z_k = S_k p_k (1 − p_k) (R_k − V_{k+1}) for the stop
 * logit z_k. Nothing is sampled: fifty threads are few enough that the noise of rollouts would drown the signal.
 */

/** What stopping is worth at each step of one labelled thread of the table. */
export interface StopWorth {
  readonly thread: number;
  readonly worth: Float32Array;
}

/** J and ∂J/∂z of one thread; `stopProbability` and `worth` are [posts]. */
export function expectedReturn(
  stopProbability: ArrayLike<number>,
  worth: ArrayLike<number>,
): { value: number; gradient: Float64Array } {
  const last = worth.length - 1;
  const ahead = new Float64Array(last + 1);
  ahead[last] = worth[last];
  for (let step = last - 1; step >= 0; step--)
    ahead[step] = stopProbability[step] * worth[step] + (1 - stopProbability[step]) * ahead[step + 1];
  const gradient = new Float64Array(last + 1);
  let survival = 1;
  for (let step = 0; step < last; step++) {
    const p = stopProbability[step];
    gradient[step] = survival * p * (1 - p) * (worth[step] - ahead[step + 1]);
    survival *= 1 - p;
  }
  return { value: ahead[0], gradient };
}

/**
 * One Adam step of each member up the mean expected return of its threads, scaled by `weights` (one a member). Returns
 * the means before the step. `worths` is [member][thread]; all members have the same threads.
 */
export function taskUpdate(
  agent: PolicyValue,
  worths: readonly (readonly StopWorth[])[],
  options: {
    table: StateTable;
    states: RowTable;
    weights: readonly number[];
    learningRates: readonly number[];
    adamEpsilon: number;
    maxGradientNorm: readonly number[];
    blockMasks: BlockMasks;
  },
): number[] {
  const { table, states, weights } = options;
  const members = worths.length;
  const own = worths[0].flatMap(({ thread, worth }) =>
    Array.from(worth, (_, step) => stateRow(table, { thread, step, previous: CONTINUE })),
  );
  const rows = own.length;
  const observations = states.gather(
    Int32Array.from({ length: members * rows }, (_, i) => own[i % rows]),
    members,
  );
  const means: number[] = [];
  const gradients = tf.tidy(() => {
    const { activations, logProbabilities } = policyValueForward(agent.parameters, observations);
    const logs = logProbabilities.dataSync();
    const outputs = 3;
    const outputGradient = new Float32Array(members * rows * outputs);
    for (const [member, threads] of worths.entries()) {
      let row = member * rows;
      let total = 0;
      for (const { worth } of threads) {
        const first = row;
        const probabilities = Array.from(worth, (_, step) => Math.exp(logs[2 * (first + step) + 1]));
        const { value, gradient } = expectedReturn(probabilities, worth);
        total += value;
        for (let step = 0; step < worth.length; step++, row++) {
          // Adam descends; the stop logit is the difference of the two.
          const down = (-weights[member] * gradient[step]) / threads.length;
          outputGradient[row * outputs] = -down;
          outputGradient[row * outputs + 1] = down;
        }
      }
      means.push(total / threads.length);
    }
    return policyValueBackward(agent.parameters, {
      observations,
      activations,
      outputGradient: tf.tensor3d(outputGradient, [members, rows, outputs]),
      blockMasks: options.blockMasks,
    });
  });
  observations.dispose();
  adamUpdate(agent, gradients, {
    learningRates: options.learningRates,
    epsilon: options.adamEpsilon,
    maxGradientNorm: options.maxGradientNorm,
  });
  return means;
}
