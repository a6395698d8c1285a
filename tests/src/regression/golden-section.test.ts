import { expect, it } from 'vitest';
import { goldenSection } from '../../../src/regression/golden-section.ts';

it('finds the smallest loss between two values, at an end of them too', () => {
  const search = (lossAt: (value: number) => number) => goldenSection({ low: -1, high: 3, width: 1e-6, lossAt });
  expect(search((value) => (value - 0.7) ** 2)).toBeCloseTo(0.7, 5);
  expect(search((value) => value)).toBeCloseTo(-1, 5);
  expect(search((value) => -value)).toBeCloseTo(3, 5);
});
