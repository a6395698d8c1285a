import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NOT_ALLOWED, queryMdp, queryRewards } from '../../envs/query-env.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { gradientsOf } from '../../src/tensor/gradients.ts';
import { namesOf } from '../../src/tensor/population-ops.ts';
import { Random } from '../../src/tensor/random.ts';
import { createPolicyValue } from '../../trainers/policy-value.ts';
import { actionMask, queryLogProbabilities, queryLoss, returnAndWeights } from '../../trainers/query-return.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(async () => {
  await selectBackend(testBackend('cpu'));
  tf.engine().startScope();
});
afterAll(() => tf.engine().endScope());

const random = Random.seeded({ seed: 1, purpose: 'query return' });
const numbers = (rows: number, columns: number) =>
  Array.from({ length: rows }, () => Array.from({ length: columns }, () => random.normal()));

/** A thread whose second detector may be asked at some steps only, with prices drawn at random. */
function pricedThread(steps: number) {
  const mdp = queryMdp(Array.from({ length: steps }, (_, step) => [true, step % 2 === 1]));
  const prices = { worth: numbers(steps, 2), delay: numbers(1, steps)[0], cost: numbers(steps, 2) };
  return { mdp, rewards: queryRewards(mdp, prices) };
}

const threads = [pricedThread(3), pricedThread(2), pricedThread(1)];
const rows = threads.reduce((sum, { mdp }) => sum + mdp.step.length, 0);
const inputs = 3;

it('has the gradient of finite differences of the return, with and without an entropy bonus', () => {
  const { parameters } = createPolicyValue({ inputs, actions: 5, hidden: 3, hasCritic: false, randoms: [random] });
  const states = {
    observations: tf.tensor3d(numbers(rows, inputs).flat(), [1, rows, inputs]),
    mask: actionMask(threads, rows),
  };
  const logsAt = (at: typeof parameters) => queryLogProbabilities(at, states).dataSync<'float32'>();
  for (const entropy of [0, 0.3]) {
    // J + τ Σ d(s) H(s): what the weights are the gradient of. The bonus is a reward here, at the policy's own probabilities.
    const objective = (at: typeof parameters) => {
      const logs = logsAt(at);
      let first = 0;
      const bonused = threads.map(({ mdp, rewards }) => {
        const own = logs.subarray(first, first + rewards.length);
        first += rewards.length;
        const soft = rewards.map((reward, pair) => (mdp.next[pair] === NOT_ALLOWED ? 0 : reward - entropy * own[pair]));
        return { mdp, rewards: soft };
      });
      return returnAndWeights(bonused, { logProbabilities: logs, entropy: 0 }).expectedReturn;
    };
    const { weights } = returnAndWeights(threads, { logProbabilities: logsAt(parameters), entropy });
    const { gradients } = gradientsOf(parameters, (own) => ({
      loss: queryLoss(own, { states, weights: tf.tensor3d(weights, [1, rows, 5]) }),
      seen: {},
    }));
    for (const name of namesOf(parameters)) {
      const values = parameters[name].dataSync<'float32'>();
      const slopes = gradients[name].dataSync();
      for (const place of [0, values.length >> 1, values.length - 1]) {
        const moved = (by: number) => {
          const data = values.slice();
          data[place] += by;
          return objective({ ...parameters, [name]: tf.tensor3d(data, parameters[name].shape) });
        };
        expect(slopes[place]).toBeCloseTo(-(moved(0.01) - moved(-0.01)) / 0.02, 3);
      }
    }
  }
});
