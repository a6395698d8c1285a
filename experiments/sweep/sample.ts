import { grouped } from '../../src/counted.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import type { Method, Range } from './sweep-file.ts';

/** The values for each swept path. */
export type Space = Readonly<Record<string, readonly unknown[] | Range>>;
/** A value for each swept path. */
export type Point = Readonly<Record<string, unknown>>;

/** Draws in a row that may give no new setting before the constraints are called too narrow. */
const missesAtMost = 100_000;
/** Combinations of a grid, each of which is held against the constraints. */
const combinationsAtMost = 100_000;

/**
 * Settings from the space, no two alike, in an order that depends on nothing else.
 * @param options.isAllowed the constraints
 * @throws InputError where a grid is too large or has a range without steps, or hardly any setting is allowed
 */
export function samplePoints(space: Space, options: { method: Method; isAllowed: (point: Point) => boolean }): Point[] {
  const { method, isAllowed } = options;
  if (method.name === 'grid') {
    checkGrid(space);
    const points = gridPoints(space).filter(isAllowed);
    if (points.length === 0)
      throw new InputError('no point of the grid meets the constraints; widen the space or the constraints');
    return points;
  }
  const points = new Map<string, Point>();
  const { trials, seed } = method;
  const random = Random.seeded({ seed, purpose: 'sweep' });
  for (let misses = 0; misses < missesAtMost; misses++) {
    const point = randomPoint(space, random);
    const key = JSON.stringify(point);
    if (!isAllowed(point) || points.has(key)) continue;
    points.set(key, point);
    if (points.size === trials) return [...points.values()];
    misses = 0;
  }
  throw new InputError(
    `only ${points.size} different settings were found that meet the constraints, and method.trials asks for ${trials}; ask for fewer, or widen the space`,
  );
}

/** Counts before anything is made. @throws InputError for too many combinations */
function checkGrid(space: Space): void {
  const counts = Object.entries(space).map(([path, values]) => countOf(path, values));
  const combinations = counts.reduce((product, count) => product * count, 1);
  if (combinations > combinationsAtMost)
    throw new InputError(
      `space: the grid has ${counts.map(grouped).join(' × ')} = ${grouped(combinations)} combinations, and a grid may have at most ${grouped(combinationsAtMost)}; give fewer values or steps, or draw some of them with method: { name: random, trials: 100 }`,
    );
}

function gridPoints(space: Space): Point[] {
  return Object.entries(space).reduce<Point[]>(
    (points, [path, values]) =>
      points.flatMap((point) => gridValues(path, values).map((value) => ({ ...point, [path]: value }))),
    [{}],
  );
}

function gridValues(path: string, values: readonly unknown[] | Range): readonly unknown[] {
  if (!('from' in values)) return values;
  const length = countOf(path, values);
  return [...new Set(Array.from({ length }, (_, step) => inRange(values, step / (length - 1))))];
}

/** How many values a grid takes. @throws InputError for a range without steps */
function countOf(path: string, values: readonly unknown[] | Range): number {
  if (!('from' in values)) return values.length;
  if (values.steps !== null) return values.steps;
  throw new InputError(
    `space.${path} is a range, and a grid needs to know how many values of it; give steps, or list the values`,
  );
}

function randomPoint(space: Space, random: Random): Point {
  return Object.fromEntries(
    Object.entries(space).map(([path, values]) => {
      const share = random.uniform();
      return [path, 'from' in values ? inRange(values, share) : values[Math.floor(share * values.length)]];
    }),
  );
}

/** `share` of the way through the range, to six significant digits: ids and tables are made of these numbers. */
function inRange({ from, to, scale, integer }: Range, share: number): number {
  const value = scale === 'log' ? from * (to / from) ** share : from + share * (to - from);
  return integer ? Math.min(to, Math.round(value)) : Number(value.toPrecision(6));
}
