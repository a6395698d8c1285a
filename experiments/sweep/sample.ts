import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import { sobolPoints } from './sobol.ts';
import type { Range, Sampler } from './sweep-file.ts';

/** What may stand at each swept path. */
export type Space = Readonly<Record<string, readonly unknown[] | Range>>;
/** A value for each swept path. */
export type Point = Readonly<Record<string, unknown>>;

/** How often a draw may miss, for each setting that is wanted, before the constraints are called too narrow. */
const missesAllowed = 1000;

/**
 * Settings from the space, no two alike, in an order that depends on nothing else.
 * @param options.isAllowed the constraints
 * @throws InputError where a grid has a range without steps, or hardly any setting is allowed
 */
export function samplePoints(
  space: Space,
  options: { sampler: Sampler; isAllowed: (point: Point) => boolean },
): Point[] {
  const { sampler, isAllowed } = options;
  if (sampler.name === 'grid') {
    const points = gridPoints(space).filter(isAllowed);
    if (points.length === 0)
      throw new InputError('no point of the grid meets the constraints; widen the space or the constraints');
    return points;
  }
  const found = new Map<string, Point>();
  let misses = 0;
  for (const unit of unitPoints(sampler, Object.keys(space).length)) {
    const point = pointAt(space, unit);
    const key = JSON.stringify(point);
    if (isAllowed(point) && !found.has(key)) found.set(key, point);
    else misses++;
    if (found.size === sampler.trials) return [...found.values()];
    if (misses > missesAllowed * sampler.trials) break;
  }
  throw new InputError(
    `only ${found.size} different settings were found that meet the constraints, and method.trials asks for ${sampler.trials}; ask for fewer, or widen the space`,
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
  const { steps } = values;
  if (steps === null)
    throw new InputError(
      `space.${path} is a range, and a grid needs to know how many values of it; give steps, or list the values`,
    );
  return [...new Set(Array.from({ length: steps }, (_, step) => inRange(values, step / (steps - 1))))];
}

function* unitPoints(sampler: Exclude<Sampler, { name: 'grid' }>, dimensions: number): Generator<number[]> {
  if (sampler.name === 'sobol') {
    yield* sobolPoints({ dimensions, shiftSeed: sampler.seed });
    return;
  }
  const random = Random.seeded({ seed: sampler.seed, purpose: 'sweep' });
  while (true) yield Array.from({ length: dimensions }, () => random.uniform());
}

function pointAt(space: Space, unit: readonly number[]): Point {
  return Object.fromEntries(
    Object.entries(space).map(([path, values], index) => [
      path,
      'from' in values ? inRange(values, unit[index]) : values[Math.floor(unit[index] * values.length)],
    ]),
  );
}

/** `share` of the way through the range, to six significant digits: ids and tables are made of these numbers. */
function inRange({ from, to, scale, integer }: Range, share: number): number {
  const value = scale === 'log' ? from * (to / from) ** share : from + share * (to - from);
  return integer ? Math.min(to, Math.round(value)) : Number(value.toPrecision(6));
}
