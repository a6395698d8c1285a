import { describe, expect, it } from 'vitest';
import { growingTiming, standardisedTiming, timingScaleOf } from '../../../src/data/prefix-model.ts';

const at = (minutes: number | null) => ({ time: minutes === null ? null : new Date(minutes * 60_000).toISOString() });
const rowsOf = (minutes: readonly (number | null)[]) => {
  const next = growingTiming();
  return minutes.map((own) => next(at(own)));
};

describe('the times of a prefix', () => {
  it('are the replies, their rate, and the minutes to the first and to the fourth', () => {
    const { log, log1p } = Math;
    expect(rowsOf([0, 3, 3, 9, 19, 49])).toEqual([
      [null, null, null, null],
      [log1p(1), log(1 / 4), log1p(3), null],
      [log1p(2), log(2 / 4), log1p(3), null],
      [log1p(3), log(3 / 10), log1p(3), null],
      [log1p(4), log(4 / 20), log1p(3), log1p(19)],
      [log1p(5), log(5 / 50), log1p(3), log1p(19)],
    ]);
  });

  it('are unknown where a post has none, begin with the first reply that has one, and are never negative', () => {
    const { log, log1p } = Math;
    expect(rowsOf([null, null, 10, 12, 13])).toEqual([
      [null, null, null, null],
      [log1p(1), null, null, null],
      [log1p(2), log(2), null, null],
      [log1p(3), log(1), null, null],
      [log1p(4), log(1), null, log1p(3)],
    ]);
    expect(rowsOf([5, 0])[1]).toEqual([log1p(1), 0, 0, null]);
    expect(growingTiming()({})).toEqual([null, null, null, null]);
  });

  it('are standardised over the rows that have them; what is unknown or always the same counts as the mean', () => {
    const rows = [
      [1, 2, null, null],
      [3, 2, 5, null],
      [null, 2, 9, null],
    ];
    const scale = timingScaleOf(rows, [1, 3, 1]);
    expect(scale).toEqual({ means: [2.5, 2, 6, 0], deviations: [Math.sqrt(0.75), 0, Math.sqrt(3), 0] });
    const [first, second, third, fourth] = standardisedTiming([1, 7, null, 4], scale);
    expect(first).toBeCloseTo(-1.5 / Math.sqrt(0.75), 12);
    expect([second, third, fourth]).toEqual([0, 0, 0]);
    expect(standardisedTiming([100, 2, -100, null], scale)).toEqual([3, 0, -3, 0]);
  });
});
