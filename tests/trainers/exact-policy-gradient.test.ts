import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../src/tensor/backend.ts';
import { gradientsOf } from '../../src/tensor/gradients.ts';
import { logSoftmax } from '../../src/tensor/operations.ts';
import { Random } from '../../src/tensor/random.ts';
import { expectedReturn, labelledBatch, type StopRewards } from '../../trainers/exact-policy-gradient.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(async () => {
  await selectBackend(testBackend('cpu'));
  tf.engine().startScope();
});
afterAll(() => tf.engine().endScope());

/** The return, and its gradient, from the stop logit of each row; rows beyond those of the threads are padding. */
function returnAt(stopLogits: readonly number[], stopRewards: StopRewards) {
  const logits = tf.tensor2d(
    stopLogits.map((own) => [0, own]),
    [stopLogits.length, 2],
  );
  const labelled = labelledBatch({ table: null, taken: tf.zeros([stopLogits.length, 1]) }, { stopRewards, weight: 1 });
  const { gradients, outputs } = gradientsOf({ logits }, (parameters) => {
    const expected = expectedReturn(logSoftmax(parameters.logits), labelled);
    return { loss: expected, outputs: { expected } };
  });
  return { value: outputs.expected.dataSync()[0], gradient: gradients.logits.arraySync() };
}

const logit = (p: number) => Math.log(p / (1 - p));
const one = (stopProbability: readonly number[], rewards: readonly number[]) =>
  returnAt(stopProbability.map(logit), [Float32Array.from(rewards)]).value;

describe('the expected return of a stopping policy', () => {
  it('is that of the hand-computed cases', () => {
    expect(one([1 - 1e-7, 0.5, 0.5], [3, 5, 7])).toBeCloseTo(3, 5);
    expect(one([1e-7, 1e-7, 1e-7], [3, 5, 7])).toBeCloseTo(7, 5);
    // Stops at the first with ½, at the second with ¼, else at the last, whatever is said there.
    expect(one([0.5, 0.5, 0.1], [4, 8, 16])).toBeCloseTo(2 + 2 + 4, 5);
    expect(one([0.3], [0.9])).toBeCloseTo(0.9, 6);
  });

  it('is the mean over the threads, in which padding takes no part', () => {
    const rewards = [Float32Array.of(4, 8, 16), Float32Array.of(2)];
    const { value, gradient } = returnAt([0, 0, logit(0.1), 5, 9, 9], rewards);
    expect(value).toBeCloseTo(5, 5);
    expect(
      gradient
        .slice(4)
        .flat()
        .every((own) => own === 0),
    ).toBe(true);
  });

  it('has the gradient of finite differences, with respect to the stop logits', () => {
    const random = Random.seeded({ seed: 1, purpose: 'task return' });
    const draw = (length: number) => Array.from({ length }, () => random.normal());
    const logits = draw(14);
    const rewards = [6, 3, 1, 4].map((steps) => Float32Array.from(draw(steps)));
    const { gradient } = returnAt(logits, rewards);
    for (const [row, at] of logits.entries()) {
      const moved = (by: number) => returnAt(logits.with(row, at + by), rewards).value;
      expect(gradient[row][1]).toBeCloseTo((moved(0.01) - moved(-0.01)) / 0.02, 3);
    }
  });
});
