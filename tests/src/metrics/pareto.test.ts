import { describe, expect, it } from 'vitest';
import { bestMixture, meanOf, type PricedPoint, paretoFront } from '../../../src/metrics/pareto.ts';

const at = (er: number, macroF1: number) => ({ er, macroF1 });

// The middle one of three on the staircase lies under the line from the first to the last.
const first = at(0.1, 0.5);
const middle = at(0.3, 0.55);
const last = at(0.6, 0.9);
const beaten = at(0.7, 0.9);
const points = [last, beaten, first, at(0.4, 0.5), middle];

describe('the front', () => {
  it('keeps what nothing beats, by rising ER', () => {
    expect(paretoFront(points)).toEqual([first, middle, last]);
    expect(paretoFront([])).toEqual([]);
  });

  it('keeps the better of two at one ER, and one of two equals', () => {
    expect(paretoFront([at(0.2, 0.4), at(0.2, 0.6), at(0.2, 0.6)])).toEqual([at(0.2, 0.6)]);
  });

  it('keeps what else a point carries', () => {
    expect(paretoFront([{ ...first, name: 'first post' }])[0].name).toBe('first post');
  });
});

describe('the best mixture within a budget', () => {
  const priced = (er: number, macroF1: number, queries = 1) => ({ er, macroF1, queries });
  const rules = [
    priced(0.1, 0.5),
    priced(0.3, 0.55),
    priced(0.6, 0.9),
    priced(0.2, 0.8, 6),
    priced(0.4, 0.88, 4),
    priced(0.15, 0.6, 2),
  ];
  const height = (budget: { er: number; queries: number }, points: readonly PricedPoint[] = rules) => {
    const mixture = bestMixture(points, budget);
    return mixture === null ? null : meanOf(mixture, 'macroF1');
  };

  it('is on the line between two rules where queries are free or equal', () => {
    const once = rules.filter(({ queries }) => queries === 1);
    expect(height({ er: 0.35, queries: 1 })).toBeCloseTo(0.7, 12);
    expect(height({ er: 0.35, queries: 1 })).toBe(height({ er: 0.35, queries: 9 }, once));
    expect(height({ er: 0.3, queries: Number.POSITIVE_INFINITY })).toBeCloseTo(0.84, 12);
    expect(height({ er: 0.9, queries: 1 })).toBeCloseTo(0.9, 12);
  });

  it('keeps within what it may use, and beats every mixture of three on a fine grid', () => {
    for (const budget of [
      { er: 0.25, queries: 2.5 },
      { er: 0.35, queries: 3 },
      { er: 0.18, queries: 4.2 },
      { er: 0.5, queries: 1.3 },
    ]) {
      const mixture = bestMixture(rules, budget) ?? [];
      expect(mixture.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
      expect(meanOf(mixture, 'er')).toBeLessThanOrEqual(budget.er + 1e-9);
      expect(meanOf(mixture, 'queries')).toBeLessThanOrEqual(budget.queries + 1e-9);
      const found = meanOf(mixture, 'macroF1');
      const tried = bestOnGrid(rules, budget);
      expect(tried).toBeLessThanOrEqual(found + 1e-9);
      expect(tried).toBeGreaterThan(found - 0.02);
    }
  });

  it('is null where nobody is as early or queries as seldom', () => {
    expect(height({ er: 0.05, queries: 9 })).toBeNull();
    expect(height({ er: 0.9, queries: 0.5 })).toBeNull();
    expect(height({ er: 0.9, queries: 1 }, [])).toBeNull();
    // Early enough alone, and cheap enough alone, but not both.
    expect(height({ er: 0.2, queries: 1.5 }, [priced(0.1, 0.5, 4), priced(0.9, 0.9, 1)])).toBeNull();
  });
});

/** By brute force: all mixtures of three points with shares in steps of 2%. */
function bestOnGrid(points: readonly PricedPoint[], budget: { er: number; queries: number }): number {
  let best = Number.NEGATIVE_INFINITY;
  const steps = 50;
  for (const a of points)
    for (const b of points)
      for (const c of points)
        for (let i = 0; i <= steps; i++)
          for (let j = 0; i + j <= steps; j++) {
            const mixture = [
              { point: a, share: i / steps },
              { point: b, share: j / steps },
              { point: c, share: (steps - i - j) / steps },
            ];
            if (meanOf(mixture, 'er') <= budget.er && meanOf(mixture, 'queries') <= budget.queries)
              best = Math.max(best, meanOf(mixture, 'macroF1'));
          }
  return best;
}
