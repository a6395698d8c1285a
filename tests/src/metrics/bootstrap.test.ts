import { describe, expect, it } from 'vitest';
import { bootstrapGroups, bootstrapInterval } from '../../../src/metrics/bootstrap.ts';
import { Random } from '../../../src/tensor/random.ts';

const meanOf = (values: readonly number[]) => (items: Int32Array) =>
  items.reduce((sum, item) => sum + values[item], 0) / items.length;

/** Smallest k with P(X ≤ k) ≥ probability, X binomial. */
function binomialQuantile(trials: number, success: number, probability: number): number {
  let mass = (1 - success) ** trials;
  let cumulative = mass;
  let k = 0;
  while (cumulative < probability) {
    mass *= ((trials - k) / (k + 1)) * (success / (1 - success));
    cumulative += mass;
    k++;
  }
  return k;
}

describe('the bootstrap interval', () => {
  it('of a proportion has binomial quantiles, the closed form of its resampling', () => {
    const values = Array.from({ length: 40 }, (_, index) => Number(index < 12));
    const options = { items: 40, statistic: meanOf(values), seed: 1, resamples: 20_000 };
    for (const confidence of [0.8, 0.95]) {
      const { estimate, low, high } = bootstrapInterval({ ...options, confidence });
      expect(estimate).toBe(0.3);
      expect(low).toBeCloseTo(binomialQuantile(40, 0.3, (1 - confidence) / 2) / 40, 12);
      expect(high).toBeCloseTo(binomialQuantile(40, 0.3, (1 + confidence) / 2) / 40, 12);
    }
  });

  it('of the mean of 20 normal values covers the truth as often as theory says', () => {
    // Asymptotically mean ± 1.96 s√(n−1)/n, which covers when |t| ≤ 1.91 with 19 degrees of freedom: 92.9%.
    const random = Random.seeded({ seed: 5, purpose: 'normal values' });
    const trials = 500;
    let covered = 0;
    for (let trial = 0; trial < trials; trial++) {
      const values = Array.from({ length: 20 }, () => random.normal());
      const { low, high } = bootstrapInterval({ items: 20, statistic: meanOf(values), seed: trial, resamples: 400 });
      covered += Number(low <= 0 && 0 <= high);
    }
    const standardError = Math.sqrt((0.929 * 0.071) / trials);
    expect(Math.abs(covered / trials - 0.929)).toBeLessThan(3 * standardError);
  });

  it('is a point where all items are alike, and the same for the same seed only', () => {
    const alike = bootstrapInterval({ items: 5, statistic: () => 2, seed: 1 });
    expect(alike).toMatchObject({ estimate: 2, low: 2, high: 2 });
    const values = [3, 1, 4, 1, 5, 9, 2, 6];
    const interval = (seed: number) => bootstrapInterval({ items: 8, statistic: meanOf(values), seed, resamples: 200 });
    expect(interval(1)).toEqual(interval(1));
    expect(interval(1)).not.toEqual(interval(2));
  });

  it('refuses what has no interval', () => {
    const statistic = () => 0;
    expect(() => bootstrapInterval({ items: 0, statistic, seed: 1 })).toThrow(
      'a bootstrap over 0 items is not possible',
    );
  });
});

/** First minus second, on the same items. */
function comparePaired({
  first,
  second,
  ...options
}: {
  first: (items: Int32Array) => number;
  second: (items: Int32Array) => number;
  items: number;
  seed: number;
  resamples?: number;
}) {
  return bootstrapInterval({ ...options, statistic: (items) => first(items) - second(items) });
}

describe('the paired comparison', () => {
  const random = Random.seeded({ seed: 9, purpose: 'scores' });
  const base = Array.from({ length: 60 }, () => random.uniform());

  it('of a system with itself is 0, with p = 1', () => {
    const same = comparePaired({ items: 60, first: meanOf(base), second: meanOf(base), seed: 1 });
    expect(same).toEqual({ estimate: 0, low: 0, high: 0, pValue: 1 });
  });

  it('takes the same items for both: a constant advantage has no spread', () => {
    const better = base.map((value) => value + 0.125);
    const { estimate, low, high, pValue } = comparePaired({
      items: 60,
      first: meanOf(better),
      second: meanOf(base),
      seed: 1,
      resamples: 999,
    });
    for (const value of [estimate, low, high]) expect(value).toBeCloseTo(0.125, 12);
    expect(pValue).toBe(2 / 1000);
  });

  it('has the p-value that the binomial law gives, and turns round with the order', () => {
    // Paired differences of +1 sixty times and −1 forty times.
    const wins = Array.from({ length: 100 }, (_, index) => (index < 60 ? 1 : 0));
    const losses = wins.map((win) => 1 - win);
    const options = { items: 100, seed: 4, resamples: 20_000 };
    const forward = comparePaired({ ...options, first: meanOf(wins), second: meanOf(losses) });
    const backward = comparePaired({ ...options, first: meanOf(losses), second: meanOf(wins) });
    expect(forward.estimate).toBeCloseTo(0.2, 12);
    // The mean of 100 draws of ±1 is at most 0 when at most 50 of them are +1, of binomial(100, 0.6).
    expect(Math.abs(forward.pValue - 2 * binomialCumulative(100, 0.6, 50))).toBeLessThan(0.006);
    expect(backward.estimate).toBeCloseTo(-0.2, 12);
    expect(backward.pValue).toBe(forward.pValue);
    expect(backward.low).toBeCloseTo(-forward.high, 12);
  });
});

describe('a bootstrap over groups', () => {
  const options = { seed: 3, resamples: 4000 };
  const base = Array.from({ length: 60 }, (_, index) => Math.sin(index));

  it('is the mean over groups, and that over items where there is one group', () => {
    const values = [
      [1, 2, 3],
      [5, 7],
    ];
    const statistics = (group: number, items: Int32Array) => [meanOf(values[group])(items), 1];
    const [mean, constant] = bootstrapGroups({ ...options, groups: [3, 2], statistics });
    expect(mean.estimate).toBeCloseTo((2 + 6) / 2, 12);
    expect(constant).toMatchObject({ estimate: 1, low: 1, high: 1 });
    const [alone] = bootstrapGroups({ ...options, groups: [60], statistics: (_, items) => [meanOf(base)(items)] });
    const single = bootstrapInterval({ ...options, items: 60, statistic: meanOf(base) });
    expect(alone.estimate).toBeCloseTo(single.estimate, 12);
    expect([alone.low, alone.high]).toEqual([single.low, single.high]);
  });

  it('is as wide as the groups scatter, where pooled items would look narrow', () => {
    // Ten groups of 100 equal items: pooled they are 1,000, but only ten of them are independent.
    const means = Array.from({ length: 10 }, (_, group) => group);
    const [{ low, high }] = bootstrapGroups({
      ...options,
      groups: means.map(() => 100),
      statistics: (group) => [means[group]],
    });
    const standardError = Math.sqrt(8.25 / 10);
    expect(high - low).toBeGreaterThan(3.3 * standardError);
    expect(high - low).toBeLessThan(4.4 * standardError);
  });

  it('leaves out groups that do not know a statistic', () => {
    const [known, unknown] = bootstrapGroups({
      ...options,
      groups: [4, 4],
      statistics: (group) => [group === 0 ? 2 : Number.NaN, Number.NaN],
    });
    expect(known).toMatchObject({ estimate: 2, low: 2, high: 2 });
    expect(unknown.estimate).toBeNaN();
  });

  it('refuses groups without items', () => {
    expect(() => bootstrapGroups({ ...options, groups: [3, 0], statistics: () => [] })).toThrow(
      'a bootstrap over 3, 0 items is not possible',
    );
  });
});

function binomialCumulative(trials: number, success: number, limit: number): number {
  let mass = (1 - success) ** trials;
  let cumulative = mass;
  for (let k = 0; k < limit; k++) {
    mass *= ((trials - k) / (k + 1)) * (success / (1 - success));
    cumulative += mass;
  }
  return cumulative;
}

describe('scores of items that are all alike', () => {
  it.each([19, 100, 2000])('may be off by what %i items may not have shown', (items) => {
    const unseen = 1 - 0.025 ** (1 / items);
    const [accuracy, difference, share] = bootstrapGroups({
      groups: [items],
      seed: 1,
      resamples: 50,
      statistics: () => [1, 0, 0.5],
      scoreRange: (statistic) => [[0, 1] as const, [-1, 1] as const, null][statistic],
    });
    expect([accuracy.low, accuracy.high]).toEqual([1 - unseen, 1]);
    expect([difference.low, difference.high]).toEqual([-unseen, unseen]);
    expect([share.low, share.high]).toEqual([0.5, 0.5]);
  });

  it('cover a share that is rarely seen as often as they promise', () => {
    // Each of 30 items is wrong with 2%: more than half of the samples have none that is.
    const random = Random.seeded({ seed: 3, purpose: 'covering' });
    const covered = Array.from({ length: 400 }, (_, seed) => {
      const right = Array.from({ length: 30 }, () => Number(random.uniform() >= 0.02));
      const { low, high } = bootstrapInterval({
        items: 30,
        seed,
        resamples: 200,
        statistic: (drawn) => drawn.reduce((sum, item) => sum + right[item], 0) / drawn.length,
        scoreRange: () => [0, 1],
      });
      return low <= 0.98 && 0.98 <= high;
    });
    expect(covered.filter(Boolean).length / covered.length).toBeGreaterThan(0.95);
  });
});
