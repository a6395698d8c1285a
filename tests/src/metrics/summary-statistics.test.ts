import { expect, it } from 'vitest';
import { meanAndDeviation, quantile } from '../../../src/metrics/summary-statistics.ts';

it('gives the mean and the sample standard deviation', () => {
  expect(meanAndDeviation([2, 4, 4, 4, 5, 5, 7, 9])).toEqual({ mean: 5, deviation: Math.sqrt(32 / 7) });
  expect(meanAndDeviation([0.5, 0.5])).toEqual({ mean: 0.5, deviation: 0 });
});

it('keeps its digits far from zero', () => {
  expect(meanAndDeviation([1e9 + 1, 1e9 + 2, 1e9 + 3])).toEqual({ mean: 1e9 + 2, deviation: 1 });
});

it('knows no deviation of one value', () => {
  expect(meanAndDeviation([0.7])).toEqual({ mean: 0.7, deviation: null });
});

it('interpolates quantiles linearly', () => {
  const sorted = Float64Array.of(1, 2, 4, 8);
  expect([0, 0.25, 0.5, 1].map((probability) => quantile(sorted, probability))).toEqual([1, 1.75, 3, 8]);
  expect(quantile(Float64Array.of(7), 0.9)).toBe(7);
});
