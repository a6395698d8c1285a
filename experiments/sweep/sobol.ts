import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';

/*
 * Sobol points (I. M. Sobol, 1967) with the direction numbers of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with
 * better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), file new-joe-kuo-6.21201, dimensions 2 to 21; in Gray
 * code order (Antonov & Saleev, 1979). A digital shift, drawn from a seed, moves the first point off the corner and keeps
 * the even spread.
 */

/** For each dimension after the first: the coefficients of its primitive polynomial, and its first direction numbers. */
const joeKuo: readonly { readonly coefficients: number; readonly first: readonly number[] }[] = [
  { coefficients: 0, first: [1] },
  { coefficients: 1, first: [1, 3] },
  { coefficients: 1, first: [1, 3, 1] },
  { coefficients: 2, first: [1, 1, 1] },
  { coefficients: 1, first: [1, 1, 3, 3] },
  { coefficients: 4, first: [1, 3, 5, 13] },
  { coefficients: 2, first: [1, 1, 5, 5, 17] },
  { coefficients: 4, first: [1, 1, 5, 5, 5] },
  { coefficients: 7, first: [1, 1, 7, 11, 19] },
  { coefficients: 11, first: [1, 1, 5, 1, 1] },
  { coefficients: 13, first: [1, 1, 1, 3, 11] },
  { coefficients: 14, first: [1, 3, 5, 5, 31] },
  { coefficients: 1, first: [1, 3, 3, 9, 7, 49] },
  { coefficients: 13, first: [1, 1, 1, 15, 21, 21] },
  { coefficients: 16, first: [1, 3, 1, 13, 27, 49] },
  { coefficients: 19, first: [1, 1, 1, 15, 7, 5] },
  { coefficients: 22, first: [1, 3, 1, 15, 13, 25] },
  { coefficients: 25, first: [1, 1, 5, 5, 19, 61] },
  { coefficients: 1, first: [1, 3, 7, 11, 23, 15, 103] },
  { coefficients: 4, first: [1, 3, 7, 13, 13, 15, 69] },
];
const sobolDimensionsAtMost = joeKuo.length + 1;

const bits = 32;

/**
 * The points of a Sobol sequence in [0, 1)^dimensions, without end (4 · 10⁹ of them).
 * @param options.shiftSeed draws the digital shift; null for the sequence as it is, whose first point is 0
 * @throws InputError for more than 21 dimensions
 */
export function* sobolPoints(options: { dimensions: number; shiftSeed: number | null }): Generator<number[]> {
  const { dimensions, shiftSeed } = options;
  if (dimensions > sobolDimensionsAtMost)
    throw new InputError(
      `Sobol points have at most ${sobolDimensionsAtMost} dimensions here, and ${dimensions} options are swept; use method: random, or sweep fewer`,
    );
  const directions = Array.from({ length: dimensions }, (_, dimension) => directionsOf(dimension));
  const random = shiftSeed === null ? null : Random.seeded({ seed: shiftSeed, purpose: 'Sobol shift' });
  const point = directions.map(() => (random === null ? 0 : Math.floor(random.uniform() * 2 ** bits)) >>> 0);
  for (let index = 0; index < 2 ** bits - 1; index++) {
    yield point.map((digits) => digits / 2 ** bits);
    const lowestZero = bits - 1 - Math.clz32(~index & (index + 1));
    for (const [dimension, own] of directions.entries()) point[dimension] = (point[dimension] ^ own[lowestZero]) >>> 0;
  }
}

function directionsOf(dimension: number): number[] {
  if (dimension === 0) return Array.from({ length: bits }, (_, bit) => (1 << (bits - 1 - bit)) >>> 0);
  const { coefficients, first } = joeKuo[dimension - 1];
  const degree = first.length;
  const directions = first.map((value, bit) => (value << (bits - 1 - bit)) >>> 0);
  for (let bit = degree; bit < bits; bit++) {
    let next = directions[bit - degree] ^ (directions[bit - degree] >>> degree);
    for (let term = 1; term < degree; term++)
      if ((coefficients >> (degree - 1 - term)) & 1) next ^= directions[bit - term];
    directions.push(next >>> 0);
  }
  return directions;
}
