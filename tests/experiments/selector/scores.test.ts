import { describe, expect, it } from 'vitest';
import { intervalsOf } from '../../../experiments/run/scoring.ts';
import { type SelectorDecision, selectorDecision } from '../../../experiments/selector/decisions.ts';
import { selectorScoring } from '../../../experiments/selector/scores.ts';
import { Random } from '../../../src/tensor/random.ts';

/** Replies of threads that are each right or wrong as a whole. */
function decisions(options: { seed: number; threads: number; replies: number; right: number }): SelectorDecision[] {
  const random = Random.seeded({ seed: options.seed, purpose: 'test' });
  return Array.from({ length: options.threads }).flatMap((_, thread) => {
    const isRight = random.uniform() < options.right;
    return Array.from({ length: options.replies }, (_, reply) => {
      const gold = reply % 4;
      const distribution = new Float64Array(4);
      distribution[isRight ? gold : (gold + 1) % 4] = 1;
      return selectorDecision(
        { task: 'stance', item: `thread/${thread}/${reply}`, event: null, gold, reply },
        { system: 'selector', part: 'test', test: 'held', distribution, isRetained: true },
      );
    });
  });
}

const stances = selectorScoring('stance');
const drawing = { resamples: 500 };

describe('intervals of a selector', () => {
  it('draws threads whole: as many replies of fewer threads make a wider interval', () => {
    const widthOf = (threads: number, replies: number) => {
      const first = decisions({ seed: 1, threads, replies, right: 0.5 });
      const [{ low, high }] = intervalsOf(stances, [{ first }], drawing);
      return high - low;
    };
    // The standard error goes with the root of the number of threads: 4 times as many, half the width.
    expect(widthOf(25, 16) / widthOf(100, 4)).toBeGreaterThan(1.4);
  });

  it('is narrow around 0 for a system against itself, and far from it for one that is always right', () => {
    const seeds = [1, 2, 3].map((seed) => decisions({ seed, threads: 50, replies: 4, right: 0.4 }));
    const against = (second: (first: SelectorDecision[]) => SelectorDecision[]) =>
      intervalsOf(
        stances,
        seeds.map((first) => ({ first, second: second(first) })),
        drawing,
      );
    for (const { estimate, low, high, pValue } of against((first) => first)) {
      expect({ estimate, pValue }).toEqual({ estimate: 0, pValue: 1 });
      // As wide as what 50 threads without a difference leave possible, about 3 / 50.
      expect(high).toBeCloseTo(-low, 12);
      expect(high).toBeLessThan(0.08);
    }
    const [macroF1] = against((first) => first.map((own) => ({ ...own, prediction: own.gold })));
    expect(macroF1.name).toBe('macroF1');
    expect(macroF1.high).toBeLessThan(-0.3);
    expect(macroF1.pValue).toBeLessThan(0.01);
  });

  it('is wider over seeds that disagree than over one', () => {
    const first = [0.2, 0.8].map((right, seed) => decisions({ seed, threads: 200, replies: 4, right }));
    const width = (own: SelectorDecision[][]) => {
      const seeds = own.map((of) => ({ first: of }));
      const [{ low, high }] = intervalsOf(stances, seeds, drawing);
      return high - low;
    };
    expect(width(first)).toBeGreaterThan(2 * width([first[0]]));
  });
});
