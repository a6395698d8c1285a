import { expect, it } from 'vitest';
import { brierScore, calibration } from '../../../src/metrics/calibration.ts';

it('means confidence and accuracy of each bin, and weighs the distances by items', () => {
  const { bins, expectedError } = calibration([
    { confidence: 1, isRight: true },
    { confidence: 0.62, isRight: true },
    { confidence: 0.66, isRight: false },
  ])!;
  expect(bins).toEqual([
    { confidence: expect.closeTo(0.64, 10), accuracy: 0.5, items: 2 },
    { confidence: 1, accuracy: 1, items: 1 },
  ]);
  expect(expectedError).toBeCloseTo((2 / 3) * 0.14, 10);
  expect(calibration([])).toBeNull();
});

it('scores probabilities by their squared distance from the gold label', () => {
  expect(brierScore({ probabilities: [0.7, 0.2, 0.1], gold: 0 })).toBeCloseTo(0.09 + 0.04 + 0.01, 10);
  expect(brierScore({ probabilities: [0, 1], gold: 0 })).toBe(2);
});
