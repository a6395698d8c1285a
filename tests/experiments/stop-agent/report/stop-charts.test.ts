import { describe, expect, it } from 'vitest';
import { barsOf, stopAxes } from '../../../../experiments/stop-agent/report/stop-charts.ts';
import { decidedThread } from './decided-thread.ts';

describe('axes of the charts of stops', () => {
  it('are those of all choices: the bins that any uses, and as high as right and wrong of a class together', () => {
    const early = [1, 1, 3].map((postsUsed, index) => decidedThread({ postsUsed, predicted: index % 2, hours: null }));
    const late = [5, 5, 5, 20].map((postsUsed) => decidedThread({ postsUsed, hours: null }));
    const { posts, hours } = stopAxes([early, late].map((decisions) => barsOf(decisions, ['no', 'yes'])));
    expect(posts.bins[0]).toBe('1');
    expect(posts.bins.at(-1)).toBe('20–29');
    expect(posts.bins).toContain('8');
    expect(posts.highestShare).toBeCloseTo(3 / 4);
    expect(hours).toEqual({ bins: [], highestShare: 0 });
  });
});
