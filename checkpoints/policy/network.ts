import * as z from 'zod/mini';
import { InputError } from '../../src/errors.ts';
import { type Moments, standardized } from '../../src/tensor/normalizer.ts';
import { bundleFiles, parseBundleJson } from './manifest.ts';

/* A stop agent's network on plain arrays, for programs that only decide: no tensors. */

/** Names of the layers: x·w1 + b1, tanh, ·w2 + b2, tanh, ·w3 + b3. */
const layerNames = ['w1', 'b1', 'w2', 'b2', 'w3', 'b3'] as const;
export type LayerName = (typeof layerNames)[number];

export interface PolicyNetwork {
  /** Units per hidden layer. */
  readonly hidden: number;
  /** Row-major: w1 [columns, hidden], w2 [hidden, hidden], w3 [hidden, 2]; biases [hidden], [hidden], [2]. */
  readonly layers: Readonly<Record<LayerName, Float32Array>>;
  /** Means and variances that standardise states. */
  readonly moments: Moments;
}

/** Continue and stop. */
export const actionCount = 2;

export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  /** Row-major. */
  readonly data: Float32Array;
}

export function policyNetwork(policy: {
  parameters: Readonly<Record<LayerName, Matrix>>;
  moments: PolicyNetwork['moments'];
}): PolicyNetwork {
  const { parameters, moments } = policy;
  const { w1, b1, w2, b2, w3, b3 } = parameters;
  return {
    hidden: w1.columns,
    moments,
    layers: { w1: w1.data, b1: b1.data, w2: w2.data, b2: b2.data, w3: w3.data, b3: b3.data },
  };
}

/** Numbers per state. */
export function columnsOfNetwork({ layers, hidden }: Pick<PolicyNetwork, 'layers' | 'hidden'>): number {
  return layers.w1.length / hidden;
}

/** Computes π(stop) in each state. @param states as the fields make them, row-major [rows, columns] @returns [rows] */
export function stopProbabilitiesOf(network: PolicyNetwork, states: Float32Array): Float32Array {
  const { hidden, layers, moments } = network;
  const width = columnsOfNetwork(network);
  const { data } = standardized({ data: states, columns: width }, moments);
  const probabilities = new Float32Array(states.length / width);
  const state = new Float64Array(width);
  const hidden1 = new Float64Array(hidden);
  const hidden2 = new Float64Array(hidden);
  const logits = new Float64Array(actionCount);
  for (let row = 0; row < probabilities.length; row++) {
    state.set(data.subarray(row * width, (row + 1) * width));
    multiply(state, { weights: layers.w1, bias: layers.b1, into: hidden1 });
    for (let unit = 0; unit < hidden; unit++) hidden1[unit] = Math.tanh(hidden1[unit]);
    multiply(hidden1, { weights: layers.w2, bias: layers.b2, into: hidden2 });
    for (let unit = 0; unit < hidden; unit++) hidden2[unit] = Math.tanh(hidden2[unit]);
    multiply(hidden2, { weights: layers.w3, bias: layers.b3, into: logits });
    probabilities[row] = 1 / (1 + Math.exp(logits[0] - logits[1]));
  }
  return probabilities;
}

/** input · weights + bias. Four columns at a time keep their sums in registers, each in the order of the inputs. */
function multiply(
  input: Float64Array,
  { weights, bias, into }: { weights: Float32Array; bias: Float32Array; into: Float64Array },
): void {
  const width = into.length;
  let column = 0;
  for (; column + 3 < width; column += 4) {
    let sum0: number = bias[column];
    let sum1: number = bias[column + 1];
    let sum2: number = bias[column + 2];
    let sum3: number = bias[column + 3];
    for (let i = 0, at = column; i < input.length; i++, at += width) {
      const value = input[i];
      sum0 += value * weights[at];
      sum1 += value * weights[at + 1];
      sum2 += value * weights[at + 2];
      sum3 += value * weights[at + 3];
    }
    into[column] = sum0;
    into[column + 1] = sum1;
    into[column + 2] = sum2;
    into[column + 3] = sum3;
  }
  for (; column < width; column++) {
    let sum: number = bias[column];
    for (let i = 0, at = column; i < input.length; i++, at += width) sum += input[i] * weights[at];
    into[column] = sum;
  }
}

const arrayOf = <Dtype extends 'F32' | 'F64'>(dtype: Dtype) =>
  z.object({ dtype: z.literal(dtype), data_offsets: z.tuple([z.int(), z.int()]) });
const [floatArray, doubleArray] = [arrayOf('F32'), arrayOf('F64')];
const headerSchema = z.object({
  w1: floatArray,
  b1: floatArray,
  w2: floatArray,
  b2: floatArray,
  w3: floatArray,
  b3: floatArray,
  mean: doubleArray,
  variance: doubleArray,
});

/**
 * Reads `policy.safetensors`.
 * @param options.columns numbers per state
 * @throws InputError if an array is missing, or its size does not fit the states
 */
export function readWeights(file: Uint8Array, { columns }: { columns: number }): PolicyNetwork {
  const name = bundleFiles.weights;
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = parseBundleJson(new TextDecoder().decode(file.subarray(8, start)), { name, schema: headerSchema });
  const bytesOf = (array: keyof typeof header) => {
    const [from, to] = header[array].data_offsets;
    // Copied, because an array's offset in the file need not be a multiple of its element size.
    return new Uint8Array(file.subarray(start + from, start + to)).buffer;
  };
  const floats = (array: LayerName) => new Float32Array(bytesOf(array));
  const b1 = floats('b1');
  const network: PolicyNetwork = {
    hidden: b1.length,
    layers: { w1: floats('w1'), b1, w2: floats('w2'), b2: floats('b2'), w3: floats('w3'), b3: floats('b3') },
    moments: { mean: new Float64Array(bytesOf('mean')), variance: new Float64Array(bytesOf('variance')) },
  };
  const { layers } = network;
  if (layers.w1.length !== columns * b1.length || layers.b3.length !== actionCount)
    throw new InputError(
      `${name} and the manifest disagree: states of ${columns} numbers and ${b1.length} hidden units, but w1 holds ${layers.w1.length}`,
    );
  return network;
}
