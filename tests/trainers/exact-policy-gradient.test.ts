import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../src/tensor/backend.ts';
import { gradientsOf } from '../../src/tensor/gradients.ts';
import { Random } from '../../src/tensor/random.ts';
import { expectedReturns, labelledBatch, type StopRewards } from '../../trainers/exact-policy-gradient.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(async () => {
  await selectBackend(testBackend('cpu'));
  tf.engine().startScope();
});
afterAll(() => tf.engine().endScope());

/** Returns of members, and their gradient, from the stop logit of each row. */
function returnsAt(stopLogits: readonly (readonly number[])[], stopRewards: readonly StopRewards[]) {
  const rows = Math.max(...stopLogits.map(({ length }) => length));
  const logits = tf.tensor3d(
    stopLogits.map((own) => Array.from({ length: rows }, (_, row) => [0, own[row] ?? 9])),
    [stopLogits.length, rows, 2],
  );
  const labelled = labelledBatch(tf.zeros([stopLogits.length, rows, 1]), {
    stopRewards,
    weights: stopLogits.map(() => 1),
  });
  const { gradients, seen } = gradientsOf({ logits }, (parameters) => {
    const returns = expectedReturns(tf.logSoftmax(parameters.logits), labelled);
    return { loss: returns, seen: { returns } };
  });
  return { returns: [...seen.returns.dataSync()], gradients: gradients.logits.arraySync() };
}

const logit = (p: number) => Math.log(p / (1 - p));
const one = (stopProbability: readonly number[], rewards: readonly number[]) =>
  returnsAt([stopProbability.map(logit)], [[Float32Array.from(rewards)]]).returns[0];

describe('the expected return of a stopping policy', () => {
  it('is that of the hand-computed cases', () => {
    expect(one([1 - 1e-7, 0.5, 0.5], [3, 5, 7])).toBeCloseTo(3, 5);
    expect(one([1e-7, 1e-7, 1e-7], [3, 5, 7])).toBeCloseTo(7, 5);
    // Stops at the first with ½, at the second with ¼, else at the last, whatever is said there.
    expect(one([0.5, 0.5, 0.1], [4, 8, 16])).toBeCloseTo(2 + 2 + 4, 5);
    expect(one([0.3], [0.9])).toBeCloseTo(0.9, 6);
  });

  it('is the mean over the threads of each member, 0 of one without', () => {
    const rewards = [[Float32Array.of(4, 8, 16), Float32Array.of(2)], [], [Float32Array.of(1, 3)]];
    const { returns, gradients } = returnsAt([[0, 0, logit(0.1), 5], [], [0, 1]], rewards);
    expect(returns.map((value) => Number(value.toFixed(5)))).toEqual([5, 0, 2]);
    // Padding takes no part.
    expect(gradients[1].flat().every((value) => value === 0)).toBe(true);
    expect(
      gradients[2]
        .slice(2)
        .flat()
        .every((value) => value === 0),
    ).toBe(true);
  });

  it('has the gradient of finite differences, with respect to the stop logits', () => {
    const random = Random.seeded({ seed: 1, purpose: 'task return' });
    const draw = (length: number) => Array.from({ length }, () => random.normal());
    const logits = [draw(9), draw(5)];
    const rewards = [
      [Float32Array.from(draw(6)), Float32Array.from(draw(3))],
      [Float32Array.from(draw(1)), Float32Array.from(draw(4))],
    ];
    const { gradients } = returnsAt(logits, rewards);
    const sum = (own: readonly (readonly number[])[]) => returnsAt(own, rewards).returns.reduce((a, b) => a + b);
    for (const [member, own] of logits.entries())
      for (const [row, at] of own.entries()) {
        const moved = (by: number) =>
          sum(logits.map((other, index) => (index === member ? other.with(row, at + by) : other)));
        expect(gradients[member][row][1]).toBeCloseTo((moved(0.01) - moved(-0.01)) / 0.02, 3);
      }
  });
});
