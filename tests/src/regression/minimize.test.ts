import { expect, it } from 'vitest';
import { minimize } from '../../../src/regression/minimize.ts';

const curvatures = Float64Array.of(1, 3, 10, 30);
const goal = Float64Array.of(2, -1, 0.5, 4);

/** Σ curvature · ln cosh(distance) + distance² / 2: smooth, with constant 1, and no parabola. */
function lossAt(point: Float64Array, gradient: Float64Array): number {
  return point.reduce((loss, value, index) => {
    const distance = value - goal[index];
    gradient[index] = curvatures[index] * Math.tanh(distance) + distance;
    return loss + curvatures[index] * Math.log(Math.cosh(distance)) + distance ** 2 / 2;
  }, 0);
}

const minimumFrom = (start: Float64Array, tolerance = 1e-12) =>
  minimize({ start, lossAt, convexity: 1, tolerance, maximumSteps: 500 });

it.each([
  ['near', Float64Array.of(0, 0, 0, 0)],
  ['far', Float64Array.of(-9, 8, 40, -30)],
])('converges to the one optimum, from %s', async (_, start) => {
  const { point, gap, steps } = await minimumFrom(start);
  expect(gap).toBeLessThan(1e-12);
  expect(steps).toBeLessThan(100);
  for (const [index, value] of goal.entries()) expect(point[index]).toBeCloseTo(value, 5);
});

it('stops within the tolerance of the minimum', async () => {
  const loose = await minimumFrom(new Float64Array(4), 1e-3);
  const tight = await minimumFrom(new Float64Array(4));
  expect(loose.steps).toBeLessThan(tight.steps);
  expect(lossAt(loose.point, new Float64Array(4))).toBeLessThan(1e-3);
});
