import { expect, it } from 'vitest';
import { legible } from '../../../../experiments/report/charts/front-chart.ts';

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

it('moves names apart, those that must be kept first', () => {
  const close = ['one-query', 'detector-in-state', 'third agent'].map((name, index) =>
    at(name, 0.38 + index / 100, 0.5),
  );
  const rule = at('first 4 posts', 0.39, 0.5, { isKept: false });
  const placed = legible([rule, ...close], points, size);
  expect(placed.slice(0, 3).map(({ name }) => name)).toEqual(['one-query', 'detector-in-state', 'third agent']);
  for (const side of [1, -1]) {
    const own = placed.filter((label) => label.side === side);
    const lines = own.map(({ y, dy }) => (1 - y) * (size.height - 28) + dy).toSorted((a, b) => a - b);
    for (let index = 1; index < lines.length; index++)
      expect(lines[index] - lines[index - 1]).toBeGreaterThanOrEqual(14);
  }
});

it('covers no point where there is room beside it, above it or below it', () => {
  const agent = at('stop agent', 0.8, 0.8);
  const left = { x: 0.72, y: 0.8 };
  const [moved] = legible([agent], [...points, agent, left], size);
  expect(moved).toMatchObject({ side: 1, dy: 0 });
  const right = { x: 0.9, y: 0.8 };
  const [above] = legible([agent], [...points, agent, left, right], size);
  expect(Math.abs(above.dy)).toBeGreaterThanOrEqual(14);
  // A rule that would cover another is not named.
  const rule = at('first post', 0.5, 0.5, { isKept: false });
  const around = [0.42, 0.58].flatMap((x) => [0.455, 0.5, 0.545].map((y) => ({ x, y })));
  expect(legible([rule], [...points, rule, ...around], size)).toEqual([]);
});

it('names what must be kept where it covers the fewest points, within the chart', () => {
  const agent = at('stop agent', 1, 1);
  const crowd = Array.from({ length: 60 }, (_, index) => ({ x: 0.5 + (index % 10) / 20, y: 0.7 + index / 200 }));
  const [placed] = legible([agent], [...points, agent, ...crowd], size);
  expect(placed.side).toBe(-1);
  expect(placed.dy).toBeGreaterThanOrEqual(0);
});

it('leaves names alone that are far from each other', () => {
  const placed = legible([at('a', 0.1, 0.1), at('b', 0.9, 0.9), at('c', 0.1, 0.9)], points, size);
  expect(placed.map(({ dy }) => dy)).toEqual([0, 0, 0]);
});
