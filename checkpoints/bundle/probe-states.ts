import { Random } from '../../src/tensor/random.ts';
import { type PolicyNetwork, widthOf } from './network.ts';

/* Raw states that an exported policy is asked about, to see that it decides as its checkpoint does. */

/** Random ones. */
const count = 1024;

/** Normal about the states of the training, twice as wide: row-major [1024, inputs]. */
export function randomStates(network: PolicyNetwork): Float32Array {
  const { inputs, projection, moments } = network;
  const width = widthOf(network);
  const draws = Random.seeded({ seed: 1, purpose: 'parity' });
  const at = (values: Float64Array, column: number) => values[values.length === 1 ? 0 : column];
  const seen = Float32Array.from({ length: count * width }, (_, index) => {
    const column = index % width;
    return at(moments.mean, column) + 2 * Math.sqrt(at(moments.variance, column)) * draws.normal();
  });
  if (projection === null) return seen;
  // The projection's columns are orthonormal, so these raw states have those components.
  return Float32Array.from({ length: count * inputs }, (_, index) => {
    const [row, input] = [Math.floor(index / inputs), index % inputs];
    let value = 0;
    for (let column = 0; column < width; column++)
      value += seen[row * width + column] * projection[input * width + column];
    return value;
  });
}

/** Row-major [rows, inputs]: zeros, the smallest and largest numbers of either sign in all columns, then one huge column at a time. */
export function extremeStates({ inputs }: PolicyNetwork): Float32Array {
  const everywhere = [0, 1e-38, -1e-38, 1, -1, 10, -10, 1e30, -1e30, 3.4e38, -3.4e38];
  const single = Math.min(inputs, 64);
  return joinedStates([
    ...everywhere.map((value) => new Float32Array(inputs).fill(value)),
    ...Array.from({ length: 2 * single }, (_, index) => {
      const state = new Float32Array(inputs);
      state[Math.floor((Math.floor(index / 2) * inputs) / single)] = index % 2 === 0 ? 1e30 : -1e30;
      return state;
    }),
  ]);
}

/** Rows of several arrays as one. */
export function joinedStates(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    all.set(part, start);
    start += part.length;
  }
  return all;
}
