import { expect, it } from 'vitest';
import { cohensKappa } from '../../../src/metrics/cohens-kappa.ts';

const times = (count: number, pair: [string, string]) => Array.from({ length: count }, () => pair);

it('is the example of two readers of 50 proposals', () => {
  // https://en.wikipedia.org/wiki/Cohen%27s_kappa: agreement 0.7, 0.5 by chance.
  const pairs = [
    ...times(20, ['yes', 'yes']),
    ...times(5, ['yes', 'no']),
    ...times(10, ['no', 'yes']),
    ...times(15, ['no', 'no']),
  ];
  expect(cohensKappa(pairs)).toBeCloseTo(0.4, 12);
});

it('is 1 for agreement, also where there is one class, 0 for chance, and null for nothing', () => {
  expect(cohensKappa([...times(3, ['a', 'a']), ...times(2, ['b', 'b'])])).toBe(1);
  expect(cohensKappa(times(4, ['a', 'a']))).toBe(1);
  expect(
    cohensKappa([
      ['a', 'a'],
      ['a', 'b'],
      ['b', 'a'],
      ['b', 'b'],
    ]),
  ).toBeCloseTo(0, 12);
  expect(cohensKappa([])).toBeNull();
});
