import * as tf from '@tensorflow/tfjs-core';
import type { NamedArray, NamedArrays } from '../../checkpoints/tensor-file.ts';
import type { Optimized } from '../../src/tensor/adam.ts';
import type { Moments } from '../../src/tensor/normalizer.ts';
import { arrayOf, missing, type TrainerState } from '../trainer.ts';
import type { PolicyMatrix, StopPolicy } from './policy.ts';
import type { StopLearner } from './setup.ts';

/*
 * Networks and normalisers as the named arrays of a checkpoint: `agent/parameters/w1`, `agent/gradientSums/w1`, …,
 * `normalizer/mean`, `normalizer/variance`.
 */

const parts = ['parameters', 'gradientSums', 'squareSums'] as const;

/** The arrays of a network, [rows, columns] each. */
export async function networkArrays(
  name: string,
  { moving, shapes }: Pick<Optimized, 'moving' | 'shapes'>,
): Promise<Record<string, NamedArray>> {
  const all = await moving.data<'float32'>();
  const arrays: Record<string, NamedArray> = {};
  let start = 0;
  for (const part of parts)
    for (const [parameter, shape] of Object.entries(shapes)) {
      const end = start + shape[0] * shape[1];
      arrays[`${name}/${part}/${parameter}`] = { shape, data: all.slice(start, end) };
      start = end;
    }
  return arrays;
}

/** @throws InputError naming the array that is missing or of another size */
export function restoreNetwork(
  { arrays }: Pick<TrainerState, 'arrays'>,
  { name = 'agent', network, updates }: { name?: string; network: Optimized; updates: number },
): void {
  const all = new Float32Array(network.moving.size);
  let start = 0;
  for (const part of parts)
    for (const [parameter, shape] of Object.entries(network.shapes)) {
      all.set(arrayOf(arrays, `${name}/${part}/${parameter}`, { kind: Float32Array, shape }), start);
      start += shape[0] * shape[1];
    }
  network.moving.dispose();
  network.moving = tf.tensor2d(all, network.moving.shape);
  network.updates = updates;
}

/** The agent and its normaliser. */
export async function learnerArrays({
  agent,
  moments,
}: Pick<StopLearner, 'agent' | 'moments'>): Promise<Record<string, NamedArray>> {
  const { mean, variance } = moments;
  return {
    ...(await networkArrays('agent', agent)),
    'normalizer/mean': { shape: [mean.length], data: mean.slice() },
    'normalizer/variance': { shape: [variance.length], data: variance.slice() },
  };
}

export async function learnerPolicy({ agent, moments }: StopLearner): Promise<StopPolicy> {
  return policyOf(await networkArrays('agent', agent), { moments, actions: agent.actions });
}

/**
 * The policy in a trainer's state, whatever algorithm trained it.
 * @param options.actions continue and stop unless given
 * @throws InputError where the state has none
 */
export function policyOfState({ arrays }: TrainerState, { actions = 2 }: { actions?: number } = {}): StopPolicy {
  const moments = {
    mean: arrayOf(arrays, 'normalizer/mean', { kind: Float64Array }),
    variance: arrayOf(arrays, 'normalizer/variance', { kind: Float64Array }),
  };
  return policyOf(arrays, { moments, actions });
}

function policyOf(
  arrays: NamedArrays,
  { moments: { mean, variance }, actions }: { moments: Moments; actions: number },
): StopPolicy {
  const matrix = (name: string): PolicyMatrix => {
    const full = `agent/parameters/${name}`;
    const array = arrays[full];
    if (!(array?.data instanceof Float32Array) || array.shape.length !== 2) throw missing(full);
    return { rows: array.shape[0], columns: array.shape[1], data: array.data };
  };
  const [w1, b1, w2, b2, w3, b3] = ['w1', 'b1', 'w2', 'b2', 'w3', 'b3'].map(matrix);
  // A critic lies behind the policy (policy-value.ts).
  const hidden = b3.columns > actions ? b1.columns / 2 : b1.columns;
  return {
    parameters: {
      w1: corner(w1, { rows: w1.rows, columns: hidden }),
      b1: corner(b1, { rows: 1, columns: hidden }),
      w2: corner(w2, { rows: hidden, columns: hidden }),
      b2: corner(b2, { rows: 1, columns: hidden }),
      w3: corner(w3, { rows: hidden, columns: actions }),
      b3: corner(b3, { rows: 1, columns: actions }),
    },
    moments: { mean: mean.slice(), variance: variance.slice() },
  };
}

/** The upper left part of a matrix. */
function corner(
  { columns: width, data }: PolicyMatrix,
  { rows, columns }: { rows: number; columns: number },
): PolicyMatrix {
  const part = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) part.set(data.subarray(row * width, row * width + columns), row * columns);
  return { rows, columns, data: part };
}
