import { describe, expect, it } from 'vitest';
import { stratifiedFolds } from '../../../src/metrics/stratified-folds.ts';
import { Random } from '../../../src/tensor/random.ts';

describe('stratifiedFolds', () => {
  it('spreads every class evenly, the same way for the same seed', () => {
    const labels = Array.from({ length: 53 }, (_, index) => (index < 12 ? 1 : 0));
    const deal = (seed: number) =>
      stratifiedFolds({ classes: labels, folds: 5, random: Random.seeded({ seed, purpose: 'folds' }) });
    const folds = deal(1);
    for (const label of [0, 1]) {
      const sizes = [0, 1, 2, 3, 4].map(
        (fold) => labels.filter((own, index) => own === label && folds[index] === fold).length,
      );
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }
    expect(deal(1)).toEqual(folds);
    expect(deal(2)).not.toEqual(folds);
  });
});
