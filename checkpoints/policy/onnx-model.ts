import { double, float, type OnnxNode, type OnnxTensor, onnxFile } from '../../src/tensor/onnx/onnx-file.ts';
import { actionCount, columnsOfNetwork, type PolicyNetwork } from './network.ts';

/*
 * A policy's score as an ONNX graph. A trained policy:
 *
 *   state [batch, columns] → standardise, clip to ±10 → two tanh layers → logits [batch, 2] → stop_probability [batch]
 *
 * A rule, whose state is its score: state [batch, 1] → stop_probability [batch]. The manifest has the threshold and the
 * limits. States are standardised in double precision, as in training; otherwise a column of small variance far from 0
 * would lose its digits.
 */

const clipTo = 10;

/** Names of the graph's input and output. */
export const onnxNames = { state: 'state', stopProbability: 'stop_probability' } as const;

/** The bytes of a score's ONNX file. @param network null for a rule */
export function onnxModel(network: PolicyNetwork | null): Uint8Array {
  const { state, stopProbability } = onnxNames;
  const { nodes, constants, columns } = network === null ? columnGraph : networkGraph(network);
  return onnxFile({
    name: 'score',
    nodes,
    constants,
    inputs: [{ name: state, type: float, shape: ['batch', columns], doc: 'states, as manifest.json defines them' }],
    outputs: [{ name: stopProbability, type: float, shape: ['batch'], doc: 'the score of each state, from 0 to 1' }],
  });
}

interface ScoreGraph {
  readonly nodes: OnnxNode[];
  readonly constants: OnnxTensor[];
  readonly columns: number;
}

const columnGraph: ScoreGraph = {
  columns: 1,
  constants: [{ name: 'first', shape: [], data: BigInt64Array.of(0n) }],
  nodes: [
    {
      type: 'Gather',
      inputs: [onnxNames.state, 'first'],
      outputs: [onnxNames.stopProbability],
      attributes: { axis: 1 },
    },
  ],
};

function networkGraph(network: PolicyNetwork): ScoreGraph {
  const { hidden, layers, moments } = network;
  const columns = columnsOfNetwork(network);
  const scale = moments.variance.map((variance) => (variance < 1e-12 ? 0 : 1 / Math.sqrt(variance)));
  return {
    columns,
    constants: [
      { name: 'mean', shape: [columns], data: moments.mean },
      { name: 'scale', shape: [columns], data: scale },
      { name: 'lowest', shape: [], data: Float64Array.of(-clipTo) },
      { name: 'highest', shape: [], data: Float64Array.of(clipTo) },
      { name: 'w1', shape: [columns, hidden], data: layers.w1 },
      { name: 'b1', shape: [hidden], data: layers.b1 },
      { name: 'w2', shape: [hidden, hidden], data: layers.w2 },
      { name: 'b2', shape: [hidden], data: layers.b2 },
      { name: 'w3', shape: [hidden, actionCount], data: layers.w3 },
      { name: 'b3', shape: [actionCount], data: layers.b3 },
      { name: 'stop', shape: [], data: BigInt64Array.of(1n) },
    ],
    nodes: [
      { type: 'Cast', inputs: [onnxNames.state], outputs: ['state_double'], attributes: { to: double } },
      { type: 'Sub', inputs: ['state_double', 'mean'], outputs: ['centred'] },
      { type: 'Mul', inputs: ['centred', 'scale'], outputs: ['scaled'] },
      { type: 'Clip', inputs: ['scaled', 'lowest', 'highest'], outputs: ['clipped'] },
      { type: 'Cast', inputs: ['clipped'], outputs: ['standardised'], attributes: { to: float } },
      { type: 'Gemm', inputs: ['standardised', 'w1', 'b1'], outputs: ['z1'] },
      { type: 'Tanh', inputs: ['z1'], outputs: ['h1'] },
      { type: 'Gemm', inputs: ['h1', 'w2', 'b2'], outputs: ['z2'] },
      { type: 'Tanh', inputs: ['z2'], outputs: ['h2'] },
      { type: 'Gemm', inputs: ['h2', 'w3', 'b3'], outputs: ['logits'] },
      { type: 'Softmax', inputs: ['logits'], outputs: ['probabilities'], attributes: { axis: 1 } },
      {
        type: 'Gather',
        inputs: ['probabilities', 'stop'],
        outputs: [onnxNames.stopProbability],
        attributes: { axis: 1 },
      },
    ],
  };
}
