import { describe, expect, it } from 'vitest';
import { binomialTail, learnThenTest, smallestCalibration } from '../../../src/metrics/learn-then-test.ts';
import { Random } from '../../../src/tensor/random.ts';

const fivePercent = { level: 0.05, confidence: 0.9 };

describe('binomialTail', () => {
  it('is the sum of the binomial probabilities', () => {
    // (1 + 10 + 45 + 120) / 1024
    expect(binomialTail({ losses: 3, items: 10, share: 0.5 })).toBeCloseTo(176 / 1024, 12);
    expect(binomialTail({ losses: 0, items: 45, share: 0.05 })).toBeCloseTo(0.95 ** 45, 12);
    expect(binomialTail({ losses: 10, items: 10, share: 0.3 })).toBeCloseTo(1, 12);
    expect(binomialTail({ losses: 400, items: 10_000, share: 0.05 })).toBeLessThan(1e-5);
  });
});

describe('smallestCalibration', () => {
  it('is the first count at which no loss at all is proof enough', () => {
    const smallest = smallestCalibration(fivePercent);
    expect(smallest).toBe(45);
    expect(0.95 ** smallest).toBeLessThanOrEqual(0.1);
    expect(0.95 ** (smallest - 1)).toBeGreaterThan(0.1);
  });
});

describe('learnThenTest', () => {
  const losses = new Map([
    [1, 0],
    [0.9, 3],
    [0.8, 7],
    [0.7, 2],
  ]);
  const lossesAt = (threshold: number) => losses.get(threshold) ?? 0;

  it('goes on to the last threshold before the first that fails, whatever comes after', () => {
    // With 200 items, 5 losses are proof enough at 5% and 90% (tail 0.062), 6 are not (0.124).
    const found = learnThenTest({ ...fivePercent, thresholds: [1, 0.9, 0.8, 0.7], items: 200, lossesAt });
    expect(found).toMatchObject({ threshold: 0.9, losses: 3, items: 200 });
    expect(binomialTail({ losses: 3, items: 200, share: found?.bound ?? 0 })).toBeCloseTo(0.1, 6);
    expect(learnThenTest({ ...fivePercent, thresholds: [1, 0.9], items: 200, lossesAt: () => 5 })?.threshold).toBe(0.9);
    expect(learnThenTest({ ...fivePercent, thresholds: [1, 0.9], items: 200, lossesAt: () => 6 })).toBeNull();
  });

  it('breaks its guarantee in at most a tenth of many draws, where the empirical rate breaks it in far more', () => {
    const random = Random.seeded({ seed: 1, purpose: 'draws' });
    const thresholds = Array.from({ length: 50 }, (_, index) => 1 - (index + 1) / 50);
    // An item loses below a threshold of its own, uniform: at threshold t a share 1 − t of all items loses.
    const draws = Array.from({ length: 400 }, () => {
      const own = Array.from({ length: 200 }, () => random.uniform());
      const below = (threshold: number) => own.filter((limit) => limit > threshold).length;
      const guaranteed = learnThenTest({ ...fivePercent, thresholds: [1, ...thresholds], items: 200, lossesAt: below });
      const empirical = thresholds.findLast((threshold) => below(threshold) / 200 <= 0.05) ?? 1;
      return { guaranteed: 1 - (guaranteed?.threshold ?? 1) > 0.0500001, empirical: 1 - empirical > 0.0500001 };
    });
    expect(draws.filter(({ guaranteed }) => guaranteed).length / draws.length).toBeLessThan(0.1);
    expect(draws.filter(({ empirical }) => empirical).length / draws.length).toBeGreaterThan(0.2);
  });
});
