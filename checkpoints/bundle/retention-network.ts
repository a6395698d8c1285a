import { tensorFile } from '../tensor-file.ts';
import { double, float, int64, type OnnxNode, type OnnxTensor, onnxFile } from './onnx-file.ts';

/*
 * A level of a selector: π(retain | s) = σ(w·s + b), or with a layer of tanh units below (JSDRV, Eq. 3). As an ONNX graph:
 *
 *   state [batch, inputs] → (tanh layer) → logit [batch] → retain_probability [batch] → action [batch], 1 from one half on
 *
 * In double precision throughout, as in training.
 */

/** Names of what goes in and comes out. */
export const retentionNames = {
  state: 'state',
  logit: 'logit',
  retainProbability: 'retain_probability',
  action: 'action',
} as const;

export interface RetentionNetwork {
  /** Length of a state. */
  readonly inputs: number;
  /** 0: linear. */
  readonly hidden: number;
  /** Flat: `[w (inputs), b]`, or `[W (hidden × inputs), c (hidden), w (hidden), b]`. */
  readonly parameters: Float64Array;
}

/** The layers of a network; matrices are row-major [outputs, inputs]. */
function layersOf({ inputs, hidden, parameters }: RetentionNetwork): readonly OnnxTensor[] {
  const below = hidden === 0 ? 0 : hidden * (inputs + 1);
  const width = hidden === 0 ? inputs : hidden;
  const last: OnnxTensor[] = [
    { name: 'w', shape: [1, width], data: parameters.slice(below, below + width) },
    { name: 'b', shape: [1], data: parameters.slice(below + width) },
  ];
  if (hidden === 0) return last;
  return [
    { name: 'w_hidden', shape: [hidden, inputs], data: parameters.slice(0, hidden * inputs) },
    { name: 'b_hidden', shape: [hidden], data: parameters.slice(hidden * inputs, below) },
    ...last,
  ];
}

/** The bytes of the ONNX file of a level. */
export function retentionModel(network: RetentionNetwork): Uint8Array {
  const { state, logit, retainProbability, action } = retentionNames;
  const isLinear = network.hidden === 0;
  const hiddenLayer: OnnxNode[] = [
    { type: 'Gemm', inputs: ['state_double', 'w_hidden', 'b_hidden'], output: 'z', integers: { transB: 1 } },
    { type: 'Tanh', inputs: ['z'], output: 'h' },
  ];
  return onnxFile({
    name: 'selector_level',
    constants: [
      ...layersOf(network),
      { name: 'last', shape: [1], data: BigInt64Array.of(1n) },
      { name: 'half', shape: [], data: Float64Array.of(0.5) },
    ],
    nodes: [
      { type: 'Cast', inputs: [state], output: 'state_double', integers: { to: double } },
      ...(isLinear ? [] : hiddenLayer),
      { type: 'Gemm', inputs: [isLinear ? 'state_double' : 'h', 'w', 'b'], output: 'column', integers: { transB: 1 } },
      { type: 'Squeeze', inputs: ['column', 'last'], output: 'logit_double' },
      { type: 'Cast', inputs: ['logit_double'], output: logit, integers: { to: float } },
      { type: 'Sigmoid', inputs: ['logit_double'], output: 'probability_double' },
      { type: 'Cast', inputs: ['probability_double'], output: retainProbability, integers: { to: float } },
      { type: 'GreaterOrEqual', inputs: ['probability_double', 'half'], output: 'is_retained' },
      { type: 'Cast', inputs: ['is_retained'], output: action, integers: { to: int64 } },
    ],
    inputs: [
      { name: state, type: float, shape: ['batch', network.inputs], doc: 'raw states, as manifest.json defines them' },
    ],
    outputs: [
      { name: logit, type: float, shape: ['batch'], doc: 'of retaining the item' },
      { name: retainProbability, type: float, shape: ['batch'], doc: 'sigmoid of the logit' },
      { name: action, type: int64, shape: ['batch'], doc: '1, retain, where retain_probability is at least one half' },
    ],
  });
}

/** The weights of the levels as safetensors, in double precision: `posts/w`, `posts/b`, … */
export function retentionWeights(levels: Readonly<Record<string, RetentionNetwork>>): Buffer {
  const arrays = Object.entries(levels).flatMap(([level, network]) =>
    layersOf(network).flatMap(({ name, shape, data }) =>
      data instanceof BigInt64Array ? [] : [[`${level}/${name}`, { shape, data }] as const],
    ),
  );
  return tensorFile({ arrays: Object.fromEntries(arrays), metadata: { earshot: 'selector' } });
}
