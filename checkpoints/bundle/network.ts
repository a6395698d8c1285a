import { type Moments, standardized } from '../../src/tensor/normalizer.ts';

/*
 * A stop agent's policy on plain arrays, for programs that only decide: no tensors, no packages. In training, policy and
 * value lie side by side in one block-diagonal network, hidden units 0 … h−1 and the first two outputs being the
 * policy's (trainers/policy-value.ts). Only that half is kept here.
 */

/** Names of the layers: x·w1 + b1, tanh, ·w2 + b2, tanh, ·w3 + b3. */
export const layerNames = ['w1', 'b1', 'w2', 'b2', 'w3', 'b3'] as const;
export type LayerName = (typeof layerNames)[number];

export interface PolicyNetwork {
  /** Length of a state. */
  readonly inputs: number;
  /** Units in each hidden layer. */
  readonly hidden: number;
  /** Row-major: w1 [inputs, hidden], w2 [hidden, hidden], w3 [hidden, 2]; biases [hidden], [hidden], [2]. */
  readonly layers: Readonly<Record<LayerName, Float32Array>>;
  /** What raw states are standardised with, [inputs] each or [1] for all columns. */
  readonly moments: Pick<Moments, 'mean' | 'variance'>;
}

/** Continue and stop. */
export const actionCount = 2;

interface Matrix {
  readonly rows: number;
  readonly columns: number;
  /** Row-major. */
  readonly data: Float32Array;
}

/** The policy's half of a network that holds policy and value. */
export function policyHalf(whole: {
  parameters: Readonly<Record<LayerName, Matrix>>;
  moments: PolicyNetwork['moments'];
}): PolicyNetwork {
  const { parameters, moments } = whole;
  const inputs = parameters.w1.rows;
  const hidden = parameters.w1.columns / 2;
  return {
    inputs,
    hidden,
    moments,
    layers: {
      w1: corner(parameters.w1, { rows: inputs, columns: hidden }),
      b1: corner(parameters.b1, { rows: 1, columns: hidden }),
      w2: corner(parameters.w2, { rows: hidden, columns: hidden }),
      b2: corner(parameters.b2, { rows: 1, columns: hidden }),
      w3: corner(parameters.w3, { rows: hidden, columns: actionCount }),
      b3: corner(parameters.b3, { rows: 1, columns: actionCount }),
    },
  };
}

/** The upper left part of a matrix. */
function corner({ columns: width, data }: Matrix, { rows, columns }: { rows: number; columns: number }): Float32Array {
  const part = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) part.set(data.subarray(row * width, row * width + columns), row * columns);
  return part;
}

/**
 * π(stop) in each state.
 * @param states raw, row-major [rows, inputs]
 * @returns [rows]
 */
export function stopProbabilitiesOf(network: PolicyNetwork, states: Float32Array): Float32Array {
  const { inputs, hidden, layers, moments } = network;
  const { data } = standardized({ data: states, columns: inputs }, { ...moments, count: 0 });
  const probabilities = new Float32Array(states.length / inputs);
  const hidden1 = new Float64Array(hidden);
  const hidden2 = new Float64Array(hidden);
  const logits = new Float64Array(actionCount);
  for (let row = 0; row < probabilities.length; row++) {
    const state = data.subarray(row * inputs, (row + 1) * inputs);
    multiply(state, { weights: layers.w1, bias: layers.b1, into: hidden1 });
    for (let unit = 0; unit < hidden; unit++) hidden1[unit] = Math.tanh(hidden1[unit]);
    multiply(hidden1, { weights: layers.w2, bias: layers.b2, into: hidden2 });
    for (let unit = 0; unit < hidden; unit++) hidden2[unit] = Math.tanh(hidden2[unit]);
    multiply(hidden2, { weights: layers.w3, bias: layers.b3, into: logits });
    probabilities[row] = 1 / (1 + Math.exp(logits[0] - logits[1]));
  }
  return probabilities;
}

function multiply(
  input: Float32Array | Float64Array,
  { weights, bias, into }: { weights: Float32Array; bias: Float32Array; into: Float64Array },
): void {
  into.set(bias);
  for (let i = 0; i < input.length; i++) {
    const value = input[i];
    if (value === 0) continue;
    for (let j = 0; j < into.length; j++) into[j] += value * weights[i * into.length + j];
  }
}
