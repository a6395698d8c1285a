import { expect, it } from 'vitest';
import { sobolPoints } from '../../../experiments/sweep/sobol.ts';

function points(options: { dimensions: number; shiftSeed: number | null }, count: number): number[][] {
  const sequence = sobolPoints(options);
  return Array.from({ length: count }, () => sequence.next().value);
}

it('is the sequence of Joe and Kuo in all 21 dimensions', () => {
  // scipy.stats.qmc.Sobol(21, scramble=False).random(38)[37], scipy 1.15
  expect(points({ dimensions: 21, shiftSeed: null }, 38)[37]).toEqual([
    0.921875, 0.640625, 0.578125, 0.921875, 0.765625, 0.296875, 0.171875, 0.796875, 0.609375, 0.171875, 0.015625,
    0.078125, 0.578125, 0.859375, 0.109375, 0.484375, 0.796875, 0.421875, 0.046875, 0.140625, 0.953125,
  ]);
});

it('puts one of 2^k points into each 2^k-th of every axis, shifted or not', () => {
  for (const shiftSeed of [null, 1, 7]) {
    const drawn = points({ dimensions: 5, shiftSeed }, 32);
    for (let axis = 0; axis < 5; axis++) {
      const cells = drawn.map((point) => Math.floor(point[axis] * 32)).sort((a, b) => a - b);
      expect(cells).toEqual(Array.from({ length: 32 }, (_, cell) => cell));
    }
  }
  expect(points({ dimensions: 2, shiftSeed: 1 }, 4)).not.toEqual(points({ dimensions: 2, shiftSeed: 2 }, 4));
});

it('says how many dimensions it has', () => {
  expect(() => points({ dimensions: 22, shiftSeed: null }, 1)).toThrow(/at most 21 dimensions here, and 22 options/);
});
