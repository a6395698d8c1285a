import * as tf from '@tensorflow/tfjs-core';
import { NOT_ALLOWED, type QueryMdp, queryValues, queryVisits } from '../envs/query-env.ts';
import { descent } from '../src/tensor/descent.ts';
import { compiled } from '../src/tensor/onnx/compiled.ts';
import { logSoftmax, type MlpName, type Tensors } from '../src/tensor/population-ops.ts';
import { policyForward } from './policy-value.ts';

/*
 * The expected return of an agent with several detectors (envs/query-env.ts) and its gradient, both exact. A thread's MDP is known, so
 * by the policy gradient theorem (Sutton et al., "Policy Gradient Methods for Reinforcement Learning with Function
 * Approximation", 1999)
 *
 *   ∇J = Σ_s d(s) Σ_a ∇π(a|s) (Q(s, a) − V(s)),
 *
 * where d and Q are one pass up and one down. With an entropy bonus, J + τ Σ_s d(s) H(s), rewards are r − τ ln π and so is
 * Q; the rest stays as it is. A first policy that asks and waits at random sees everything; without the bonus it may settle for
 * answering at once before it has found out what the dearer detectors are worth.
 */

/** A thread's MDP and the rewards of its actions, row-major [states, actions]. */
export interface PricedThread {
  readonly mdp: QueryMdp;
  readonly rewards: Float64Array;
}

/** Added to the logit of an action that is not allowed. */
const lowest = -1e9;

/** 0 where an action is allowed, else far below every logit: of all states of some threads, [1, rows, actions]. */
export function actionMask(threads: readonly Pick<PricedThread, 'mdp'>[], rows: number): tf.Tensor3D {
  const { actions } = threads[0].mdp;
  const mask = new Float32Array(rows * actions);
  let pair = 0;
  for (const { mdp } of threads) for (const next of mdp.next) mask[pair++] = next === NOT_ALLOWED ? lowest : 0;
  return tf.tensor3d(mask, [1, rows, actions]);
}

/** The network's input: standardised states, [1, rows, inputs], and the mask of their actions. */
export type QueryStates = { readonly observations: tf.Tensor3D; readonly mask: tf.Tensor3D };

/** ln π(a | s), [1, rows, actions]. */
export function queryLogProbabilities(parameters: Tensors<MlpName>, { observations, mask }: QueryStates): tf.Tensor3D {
  const logProbabilities = policyForward(parameters, observations, { actions: mask.shape[2] });
  return logSoftmax(tf.add<tf.Tensor3D>(logProbabilities, mask));
}

/** The same, compiled. */
export const scoreQueryActions = compiled(
  ({ parameters, states }: { parameters: Tensors<MlpName>; states: QueryStates }) => ({
    logProbabilities: queryLogProbabilities(parameters, states),
  }),
);

/**
 * What the gradient is made of at one policy.
 * @param logProbabilities ln π(a | s) of all threads one after the other, row-major [states, actions]
 * @param entropy τ
 * @returns J, the mean over threads without the bonus, and d(s) (Q(s, a) − τ ln π(a|s) − V(s)) over the number of threads, [rows,
 *   actions] like the probabilities
 */
export function returnAndWeights(
  threads: readonly PricedThread[],
  { logProbabilities, entropy }: { logProbabilities: Float32Array; entropy: number },
): { expectedReturn: number; weights: Float32Array } {
  const weights = new Float32Array(logProbabilities.length);
  let expectedReturn = 0;
  let first = 0;
  for (const { mdp, rewards } of threads) {
    const { actions, next } = mdp;
    const logs = logProbabilities.subarray(first, first + next.length);
    const policy = Float64Array.from(logs, (log, pair) => (next[pair] === NOT_ALLOWED ? 0 : Math.exp(log)));
    const visits = queryVisits(mdp, policy);
    const soft = rewards.map((reward, pair) => (next[pair] === NOT_ALLOWED ? 0 : reward - entropy * logs[pair]));
    const { values, ofActions } = queryValues(mdp, { policy, rewards: soft });
    for (let pair = 0; pair < next.length; pair++) {
      const state = Math.floor(pair / actions);
      expectedReturn += (visits[state] * policy[pair] * rewards[pair]) / threads.length;
      if (next[pair] !== NOT_ALLOWED)
        weights[first + pair] = (visits[state] * (ofActions[pair] - values[state])) / threads.length;
    }
    first += next.length;
  }
  return { expectedReturn, weights };
}

/** −Σ w(s, a) π(a | s): its gradient is −∇J, where the weights are those of this very policy. */
export function queryLoss(
  parameters: Tensors<MlpName>,
  { states, weights }: { states: QueryStates; weights: tf.Tensor3D },
): tf.Tensor {
  return tf.neg(tf.sum(tf.mul(weights, tf.exp(queryLogProbabilities(parameters, states)))));
}

/** Climbs the expected return: a batch is the weights of one step. */
export const climbQueryReturn = descent<MlpName, { weights: tf.Tensor3D }, { states: QueryStates }, object>(
  (parameters, { weights }, { states }) => ({
    loss: queryLoss(parameters, { states, weights }),
    seen: {},
  }),
);
