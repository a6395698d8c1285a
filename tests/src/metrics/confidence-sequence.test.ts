import { describe, expect, it } from 'vitest';
import { confidenceSequence } from '../../../src/metrics/e-process.ts';
import { Random } from '../../../src/tensor/random.ts';

describe('the confidence sequence', () => {
  it('holds the observed share, shrinks with the items, and says nothing before the first', () => {
    expect(confidenceSequence({ losses: 0, items: 0 }, 0.95)).toEqual({ low: 0, high: 1 });
    const widths = [40, 400, 4000, 40_000].map((items) => {
      const { low, high } = confidenceSequence({ losses: items / 20, items }, 0.95);
      expect([low < 0.05, high > 0.05]).toEqual([true, true]);
      return high - low;
    });
    expect(widths).toEqual([...widths].sort((a, b) => b - a));
    expect(widths[2]).toBeLessThan(0.025);
    expect(confidenceSequence({ losses: 0, items: 100 }, 0.95)).toMatchObject({ low: 0 });
    expect(confidenceSequence({ losses: 100, items: 100 }, 0.95)).toMatchObject({ high: 1 });
  });

  it('ever leaves out the share in no more than the level of 200 streams, looked at after every item', () => {
    const random = Random.seeded({ seed: 1, purpose: 'confidence sequence' });
    const isEverOut = () => {
      let losses = 0;
      for (let items = 1; items <= 200; items++) {
        losses += Number(random.uniform() < 0.1);
        const { low, high } = confidenceSequence({ losses, items }, 0.9);
        if (low > 0.1 || high < 0.1) return true;
      }
      return false;
    };
    const out = Array.from({ length: 200 }, isEverOut).filter(Boolean).length;
    // Three standard deviations above 10%.
    expect(out).toBeLessThanOrEqual(20 + 3 * Math.sqrt(18));
    expect(out).toBeGreaterThan(0);
  });
});
