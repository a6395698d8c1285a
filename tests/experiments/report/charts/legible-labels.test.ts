import { expect, it } from 'vitest';
import { legible } from '../../../../experiments/report/charts/legible-labels.ts';

const size = { width: 480, height: 360, isLogarithmic: false };
const points = [
  { x: 0, y: 0 },
  { x: 1, y: 1 },
];
const at = (name: string, x: number, y: number, given: { isKept?: boolean } = {}) => ({
  name,
  x,
  y,
  isKept: true,
  ...given,
});

it('moves names that must be kept apart, and leaves out others that have no room', () => {
  const close = ['one-query', 'detector-in-state', 'third agent'].map((name, index) =>
    at(name, 0.38 + index / 100, 0.5),
  );
  const rule = at('first 4 posts', 0.39, 0.5, { isKept: false });
  const placed = legible([rule, ...close], points, size);
  expect(placed.map(({ name }) => name)).toEqual(['one-query', 'detector-in-state', 'third agent']);
  const lines = placed.map(({ y, dy }) => (1 - y) * size.height + dy).toSorted((a, b) => a - b);
  for (let index = 1; index < lines.length; index++) expect(lines[index] - lines[index - 1]).toBeGreaterThanOrEqual(14);
});

it('leaves names alone that are far from each other', () => {
  const placed = legible([at('a', 0.1, 0.1), at('b', 0.9, 0.9), at('c', 0.1, 0.9)], points, size);
  expect(placed.map(({ dy }) => dy)).toEqual([0, 0, 0]);
});
