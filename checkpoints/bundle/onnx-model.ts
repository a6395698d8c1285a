import { double, float, int64, type OnnxNode, type OnnxTensor, onnxFile } from '../../src/tensor/onnx/onnx-file.ts';
import { actionCount, type PolicyNetwork, widthOf } from './network.ts';

/*
 * A stop agent's policy as an ONNX graph:
 *
 *   state [batch, inputs] → principal components, where the agent sees those → standardise, clip to ±10 → two tanh layers → logits [batch, 2]
 *                         → stop_probability [batch] → action [batch], 1 where it exceeds one half
 *
 * States are projected and standardised in double precision, as in training: a column of small variance far from 0 would lose its
 * digits otherwise.
 */

const clipTo = 10;

/** Names of what goes in and comes out. */
export const onnxNames = {
  state: 'state',
  logits: 'logits',
  stopProbability: 'stop_probability',
  action: 'action',
} as const;

/** The bytes of the ONNX file of a policy. */
export function onnxModel(network: PolicyNetwork): Uint8Array {
  const { inputs, projection, hidden, layers, moments } = network;
  const width = widthOf(network);
  const { state, logits, stopProbability, action } = onnxNames;
  const wide = moments.mean.length;
  const scale = moments.variance.map((variance) => (variance < 1e-12 ? 0 : 1 / Math.sqrt(variance)));
  const constants: OnnxTensor[] = [
    { name: 'mean', shape: [wide], data: moments.mean },
    { name: 'scale', shape: [wide], data: scale },
    { name: 'lowest', shape: [], data: Float64Array.of(-clipTo) },
    { name: 'highest', shape: [], data: Float64Array.of(clipTo) },
    { name: 'w1', shape: [width, hidden], data: layers.w1 },
    { name: 'b1', shape: [hidden], data: layers.b1 },
    { name: 'w2', shape: [hidden, hidden], data: layers.w2 },
    { name: 'b2', shape: [hidden], data: layers.b2 },
    { name: 'w3', shape: [hidden, actionCount], data: layers.w3 },
    { name: 'b3', shape: [actionCount], data: layers.b3 },
    { name: 'stop', shape: [], data: BigInt64Array.of(1n) },
    { name: 'half', shape: [], data: Float32Array.of(0.5) },
    ...(projection === null
      ? []
      : [{ name: 'projection', shape: [inputs, width], data: Float64Array.from(projection) }]),
  ];
  const seen = projection === null ? 'state_double' : 'projected';
  const nodes: OnnxNode[] = [
    { type: 'Cast', inputs: [state], output: 'state_double', attributes: { to: double } },
    ...(projection === null ? [] : [{ type: 'MatMul', inputs: ['state_double', 'projection'], output: seen }]),
    { type: 'Sub', inputs: [seen, 'mean'], output: 'centred' },
    { type: 'Mul', inputs: ['centred', 'scale'], output: 'scaled' },
    { type: 'Clip', inputs: ['scaled', 'lowest', 'highest'], output: 'clipped' },
    { type: 'Cast', inputs: ['clipped'], output: 'standardised', attributes: { to: float } },
    { type: 'Gemm', inputs: ['standardised', 'w1', 'b1'], output: 'z1' },
    { type: 'Tanh', inputs: ['z1'], output: 'h1' },
    { type: 'Gemm', inputs: ['h1', 'w2', 'b2'], output: 'z2' },
    { type: 'Tanh', inputs: ['z2'], output: 'h2' },
    { type: 'Gemm', inputs: ['h2', 'w3', 'b3'], output: logits },
    { type: 'Softmax', inputs: [logits], output: 'probabilities', attributes: { axis: 1 } },
    { type: 'Gather', inputs: ['probabilities', 'stop'], output: stopProbability, attributes: { axis: 1 } },
    { type: 'Greater', inputs: [stopProbability, 'half'], output: 'is_stop' },
    { type: 'Cast', inputs: ['is_stop'], output: action, attributes: { to: int64 } },
  ];
  return onnxFile({
    name: 'stop_agent',
    nodes,
    constants,
    inputs: [{ name: state, type: float, shape: ['batch', inputs], doc: 'raw states, as manifest.json defines them' }],
    outputs: [
      { name: logits, type: float, shape: ['batch', actionCount], doc: 'of continue and stop' },
      { name: stopProbability, type: float, shape: ['batch'], doc: 'softmax of the logits at stop' },
      { name: action, type: int64, shape: ['batch'], doc: '1, stop, where stop_probability exceeds one half; else 0' },
    ],
  });
}
