import { Random } from '../../src/tensor/random.ts';
import { columnsOfNetwork, type PolicyNetwork } from './network.ts';

/* Raw states for comparing an exported policy with its checkpoint. */

const count = 1024;

/** Draws from a normal distribution around the training states, with twice their width; row-major [1024, columns]. */
export function randomStates(network: PolicyNetwork): Float32Array {
  const columns = columnsOfNetwork(network);
  const { mean, variance } = network.moments;
  const draws = Random.seeded({ seed: 1, purpose: 'parity' });
  const at = (values: Float64Array, column: number) => values[values.length === 1 ? 0 : column];
  return Float32Array.from({ length: count * columns }, (_, index) => {
    const column = index % columns;
    return at(mean, column) + 2 * Math.sqrt(at(variance, column)) * draws.normal();
  });
}

/**
 * Zeros, the smallest and largest numbers of either sign, then one huge column at a time; row-major [rows, columns].
 */
export function extremeStates(network: PolicyNetwork): Float32Array {
  const inputs = columnsOfNetwork(network);
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

export function joinedStates(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    all.set(part, start);
    start += part.length;
  }
  return all;
}
