import { describe, expect, it } from 'vitest';
import { Random } from '../../src/tensor/random.ts';
import { expectedReturn } from '../../trainers/exact-return.ts';

describe('the expected return of a stopping policy', () => {
  it('is that of the hand-computed cases', () => {
    expect(expectedReturn([1, 0.5, 0.5], [3, 5, 7]).value).toBe(3);
    expect(expectedReturn([0, 0, 0], [3, 5, 7]).value).toBe(7);
    // Stops at the first with ½, at the second with ¼, else at the last, whatever is said there.
    expect(expectedReturn([0.5, 0.5, 0.1], [4, 8, 16]).value).toBe(2 + 2 + 4);
    expect(expectedReturn([0.3], [0.9]).value).toBe(0.9);
  });

  it('has the gradient of finite differences, with respect to the stop logits', () => {
    const random = Random.seeded({ seed: 1, purpose: 'task return' });
    const logits = Array.from({ length: 9 }, () => random.normal());
    const worth = Array.from({ length: 9 }, () => random.normal());
    const at = (z: readonly number[]) =>
      expectedReturn(
        z.map((logit) => 1 / (1 + Math.exp(-logit))),
        worth,
      );
    const { gradient } = at(logits);
    for (let i = 0; i < logits.length; i++) {
      const moved = (by: number) => logits.map((logit, j) => (i === j ? logit + by : logit));
      const expected = (at(moved(1e-5)).value - at(moved(-1e-5)).value) / 2e-5;
      expect(gradient[i]).toBeCloseTo(expected, 8);
    }
  });
});
