import { describe, expect, it } from 'vitest';
import { dominatedArea, marginToFront, paretoFront } from '../../../src/metrics/pareto.ts';

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

  it('refuses points that have no place', () => {
    expect(() => paretoFront([at(Number.NaN, 0.5)])).toThrow('a point with ER NaN and macro-F1 0.5 cannot be placed');
  });
});

describe('the dominated area', () => {
  it('is the sum of the stairs', () => {
    expect(dominatedArea(points)).toBeCloseTo(0.2 * 0.5 + 0.3 * 0.55 + 0.4 * 0.9, 12);
  });

  it('has its limits, and counts only what beats the reference', () => {
    expect(dominatedArea([])).toBe(0);
    expect(dominatedArea([at(0, 1)])).toBe(1);
    expect(dominatedArea([at(1, 1), at(0, 0), at(1.2, 0.9)])).toBe(0);
    expect(dominatedArea([at(0.5, 0.6), at(0.1, 0.1)], at(0.9, 0.2))).toBeCloseTo(0.4 * 0.4, 12);
  });

  it('never shrinks when a point is added', () => {
    expect(dominatedArea([...points, at(0.2, 0.54)])).toBeGreaterThan(dominatedArea(points));
    expect(dominatedArea([...points, at(0.5, 0.52)])).toBe(dominatedArea(points));
  });
});

describe('the margin', () => {
  it('is taken from the best as early, and from the line of mixtures', () => {
    const margins = marginToFront(at(0.35, 0.8), points);
    expect(margins?.overStaircase).toBeCloseTo(0.8 - 0.55, 12);
    expect(margins?.overHull).toBeCloseTo(0.8 - 0.7, 12);
  });

  it('is negative below, and smaller against mixtures', () => {
    const margins = marginToFront(at(0.3, 0.52), points);
    expect(margins?.overStaircase).toBeCloseTo(-0.03, 12);
    expect(margins?.overHull).toBeCloseTo(0.52 - (0.5 + 0.4 * 0.4), 12);
  });

  it('leaves the point itself out of the others', () => {
    const margins = marginToFront(last, points);
    expect(margins?.overStaircase).toBeCloseTo(0.35, 12);
    // Without it the best late one is `beaten`; the mixture of `first` and `beaten` at 0.6 is 0.5 + 5/6 · 0.4.
    expect(margins?.overHull).toBeCloseTo(0.9 - (0.5 + (5 / 6) * 0.4), 12);
  });

  it('is level after the last corner, for nobody has to read on', () => {
    expect(marginToFront(at(0.9, 0.95), points)).toEqual({
      overStaircase: expect.closeTo(0.05, 12),
      overHull: expect.closeTo(0.05, 12),
    });
  });

  it('is 0 on the front and null where nobody is as early', () => {
    expect(marginToFront(at(0.1, 0.5), points)).toEqual({ overStaircase: 0, overHull: 0 });
    expect(marginToFront(at(0.05, 0.5), points)).toBeNull();
    expect(marginToFront(first, [first])).toBeNull();
  });
});
