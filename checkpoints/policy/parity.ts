import { Random } from '../../src/tensor/random.ts';
import { tolerance } from './golden.ts';
import type { Manifest } from './manifest.ts';
import { columnsOfNetwork, type PolicyNetwork } from './network.ts';
import { onnxNames } from './onnx-model.ts';

/** Rows per call of the ONNX file. */
const batches = [1, 7, 1024];

/** States with the scores that the checkpoint gives them. */
export interface ParityProbe {
  /** The kind of states, for messages: golden, random or extreme. */
  readonly name: string;
  /** Raw, row-major [rows, columns]. */
  readonly states: Float32Array;
  readonly columns: number;
  /** The checkpoint's score of each state, [rows]. */
  readonly expected: Float32Array | Float64Array;
}

/**
 * Compares the scores of an ONNX file with those of the checkpoint that it was made from.
 * @throws Error that names the kind, row and batch of the first difference
 */
export async function checkParity(model: Uint8Array, probes: readonly ParityProbe[]): Promise<Manifest['parity']> {
  // Loaded on demand, because the native library is large and only an export needs it.
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  const session = await InferenceSession.create(model);
  let largestDifference = 0;
  try {
    for (const probe of probes)
      for (const batch of batches)
        for (let start = 0; start < probe.expected.length; start += batch) {
          const end = Math.min(start + batch, probe.expected.length);
          const { columns } = probe;
          const states = probe.states.slice(start * columns, end * columns);
          const state = new Tensor('float32', states, [end - start, columns]);
          const output = await session.run({ [onnxNames.state]: state });
          const scores = output[onnxNames.stopProbability].data;
          for (let row = start; row < end; row++) {
            const [probability, expected] = [Number(scores[row - start]), probe.expected[row]];
            const difference = Math.abs(probability - expected);
            // Written so that NaN fails, too.
            if (!(difference <= tolerance))
              throw new Error(
                `the ONNX file and the checkpoint differ at ${probe.name} state ${row}, in batches of ${batch}: the score is ${probability} and ${expected}, more than ${tolerance} apart`,
              );
            largestDifference = Math.max(largestDifference, difference);
          }
        }
  } finally {
    await session.release();
  }
  return {
    runtime: 'onnxruntime-node',
    batches,
    tolerance,
    largestDifference,
    rows: Object.fromEntries(probes.map(({ name, expected }) => [name, expected.length])),
  };
}

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
