import { describe, expect, it } from 'vitest';
import {
  binomialTail,
  learnThenTest,
  learnThenTestSome,
  smallestCalibration,
} from '../../../src/metrics/learn-then-test.ts';
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

describe('learnThenTestSome', () => {
  const counts = new Map([
    [1, { items: 0, losses: 0 }],
    [0.9, { items: 60, losses: 0 }],
    [0.8, { items: 120, losses: 1 }],
    [0.7, { items: 300, losses: 8 }],
  ]);
  const countsAt = (threshold: number) => counts.get(threshold)!;

  it('takes the least careful of the thresholds that Holm’s method rejects', () => {
    // At 5%: tails 1, 0.046, 0.016 and 0.034. Of four tests at δ = 0.1: 0.016 ≤ 0.1 / 4, 0.034 > 0.1 / 3 ends it.
    const found = learnThenTestSome({ ...fivePercent, thresholds: [1, 0.9, 0.8, 0.7], countsAt });
    expect(found).toMatchObject({ threshold: 0.8, items: 120, losses: 1 });
    expect(
      learnThenTestSome({ level: 0.05, confidence: 0.85, thresholds: [1, 0.9, 0.8, 0.7], countsAt })?.threshold,
    ).toBe(0.7);
    expect(learnThenTestSome({ ...fivePercent, thresholds: [1, 0.9], countsAt })?.threshold).toBe(0.9);
    expect(learnThenTestSome({ ...fivePercent, thresholds: [1], countsAt })).toBeNull();
  });

  it('is violated in at most δ of many draws, where tuning on the same items often is', () => {
    // Less careful thresholds have more items, a larger share of which loses: exactly 10% at 0.5.
    const thresholds = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4];
    const shares = new Map([
      [0.9, 0.02],
      [0.8, 0.04],
      [0.7, 0.06],
      [0.6, 0.08],
      [0.5, 0.1001],
      [0.4, 0.12],
    ]);
    const random = Random.seeded({ seed: 5, purpose: 'alerts that lose' });
    const draws = 2000;
    let violated = 0;
    let tuned = 0;
    for (let draw = 0; draw < draws; draw++) {
      const items = Array.from({ length: 400 }, () => [random.uniform(), random.uniform()] as const);
      const found = new Map(
        thresholds.map((threshold) => {
          const own = items.filter(([alerts]) => alerts > threshold / 2);
          return [
            threshold,
            { items: own.length, losses: own.filter(([, loses]) => loses < shares.get(threshold)!).length },
          ];
        }),
      );
      const at = (threshold: number) => found.get(threshold)!;
      const kept = learnThenTestSome({ level: 0.1, confidence: 0.9, thresholds, countsAt: at });
      if (kept !== null && shares.get(kept.threshold)! > 0.1) violated++;
      const best = thresholds.findLast((threshold) => at(threshold).losses <= 0.1 * at(threshold).items);
      if (best !== undefined && shares.get(best)! > 0.1) tuned++;
    }
    expect(violated / draws).toBeLessThan(0.1);
    expect(tuned / draws).toBeGreaterThan(0.3);
  });
});
