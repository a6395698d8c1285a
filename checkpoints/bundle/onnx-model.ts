import Pbf from 'pbf';
import { actionCount, type PolicyNetwork } from './network.ts';

/*
 * A policy as an ONNX file (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), opset 17:
 *
 *   state [batch, inputs] → standardise, clip to ±10 → two tanh layers → logits [batch, 2]
 *                         → stop_probability [batch] → action [batch], 1 where it exceeds one half
 *
 * States are standardised in double precision, as in training: a column of small variance far from 0 would lose its
 * digits otherwise.
 */

const irVersion = 8;
const opset = 17;
const clipTo = 10;

/** TensorProto.DataType. */
const float = 1;
const int64 = 7;
const double = 11;

/** Field numbers of onnx.proto, as far as this graph needs them. */
const modelField = { irVersion: 1, producer: 2, graph: 7, opset: 8 } as const;
const opsetVersionField = 2;
const graphField = { node: 1, name: 2, initializer: 5, input: 11, output: 12 } as const;
const nodeField = { input: 1, output: 2, name: 3, type: 4, attribute: 5 } as const;
const attributeField = { name: 1, integer: 3, type: 20 } as const;
const integerAttribute = 2;
const tensorField = { dimension: 1, type: 2, name: 8, bytes: 9 } as const;
const valueField = { name: 1, type: 2, doc: 10 } as const;
const typeTensorField = 1;
const tensorTypeField = { element: 1, shape: 2 } as const;
const shapeDimensionField = 1;
const dimensionField = { value: 1, name: 2 } as const;

interface Node {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly integers?: Readonly<Record<string, number>>;
}

interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array | BigInt64Array;
}

interface Value {
  readonly name: string;
  readonly type: number;
  /** A name for a length that is free. */
  readonly shape: readonly (string | number)[];
  readonly doc: string;
}

/** Names of what goes in and comes out. */
export const onnxNames = {
  state: 'state',
  logits: 'logits',
  stopProbability: 'stop_probability',
  action: 'action',
} as const;

/** The bytes of the ONNX file of a policy. */
export function onnxModel(network: PolicyNetwork): Uint8Array {
  const { inputs, hidden, layers, moments } = network;
  const { state, logits, stopProbability, action } = onnxNames;
  const wide = moments.mean.length;
  const scale = moments.variance.map((variance) => (variance < 1e-12 ? 0 : 1 / Math.sqrt(variance)));
  const constants: Tensor[] = [
    { name: 'mean', shape: [wide], data: moments.mean },
    { name: 'scale', shape: [wide], data: scale },
    { name: 'lowest', shape: [], data: Float64Array.of(-clipTo) },
    { name: 'highest', shape: [], data: Float64Array.of(clipTo) },
    { name: 'w1', shape: [inputs, hidden], data: layers.w1 },
    { name: 'b1', shape: [hidden], data: layers.b1 },
    { name: 'w2', shape: [hidden, hidden], data: layers.w2 },
    { name: 'b2', shape: [hidden], data: layers.b2 },
    { name: 'w3', shape: [hidden, actionCount], data: layers.w3 },
    { name: 'b3', shape: [actionCount], data: layers.b3 },
    { name: 'stop', shape: [], data: BigInt64Array.of(1n) },
    { name: 'half', shape: [], data: Float32Array.of(0.5) },
  ];
  const nodes: Node[] = [
    { type: 'Cast', inputs: [state], output: 'state_double', integers: { to: double } },
    { type: 'Sub', inputs: ['state_double', 'mean'], output: 'centred' },
    { type: 'Mul', inputs: ['centred', 'scale'], output: 'scaled' },
    { type: 'Clip', inputs: ['scaled', 'lowest', 'highest'], output: 'clipped' },
    { type: 'Cast', inputs: ['clipped'], output: 'standardised', integers: { to: float } },
    { type: 'Gemm', inputs: ['standardised', 'w1', 'b1'], output: 'z1' },
    { type: 'Tanh', inputs: ['z1'], output: 'h1' },
    { type: 'Gemm', inputs: ['h1', 'w2', 'b2'], output: 'z2' },
    { type: 'Tanh', inputs: ['z2'], output: 'h2' },
    { type: 'Gemm', inputs: ['h2', 'w3', 'b3'], output: logits },
    { type: 'Softmax', inputs: [logits], output: 'probabilities', integers: { axis: 1 } },
    { type: 'Gather', inputs: ['probabilities', 'stop'], output: stopProbability, integers: { axis: 1 } },
    { type: 'Greater', inputs: [stopProbability, 'half'], output: 'is_stop' },
    { type: 'Cast', inputs: ['is_stop'], output: action, integers: { to: int64 } },
  ];
  const values: { inputs: Value[]; outputs: Value[] } = {
    inputs: [{ name: state, type: float, shape: ['batch', inputs], doc: 'raw states, as manifest.json defines them' }],
    outputs: [
      { name: logits, type: float, shape: ['batch', actionCount], doc: 'of continue and stop' },
      { name: stopProbability, type: float, shape: ['batch'], doc: 'softmax of the logits at stop' },
      { name: action, type: int64, shape: ['batch'], doc: '1, stop, where stop_probability exceeds one half; else 0' },
    ],
  };
  const pbf = new Pbf();
  pbf.writeVarintField(modelField.irVersion, irVersion);
  pbf.writeStringField(modelField.producer, 'earshot');
  pbf.writeMessage(modelField.graph, writeGraph, { nodes, constants, values });
  pbf.writeMessage(modelField.opset, (version: number, own) => own.writeVarintField(opsetVersionField, version), opset);
  return pbf.finish();
}

function writeGraph(
  graph: { nodes: readonly Node[]; constants: readonly Tensor[]; values: { inputs: Value[]; outputs: Value[] } },
  pbf: Pbf,
): void {
  for (const node of graph.nodes) pbf.writeMessage(graphField.node, writeNode, node);
  pbf.writeStringField(graphField.name, 'stop_agent');
  for (const constant of graph.constants) pbf.writeMessage(graphField.initializer, writeTensor, constant);
  for (const input of graph.values.inputs) pbf.writeMessage(graphField.input, writeValue, input);
  for (const output of graph.values.outputs) pbf.writeMessage(graphField.output, writeValue, output);
}

function writeNode({ type, inputs, output, integers = {} }: Node, pbf: Pbf): void {
  for (const input of inputs) pbf.writeStringField(nodeField.input, input);
  pbf.writeStringField(nodeField.output, output);
  pbf.writeStringField(nodeField.name, output);
  pbf.writeStringField(nodeField.type, type);
  for (const attribute of Object.entries(integers)) pbf.writeMessage(nodeField.attribute, writeAttribute, attribute);
}

function writeAttribute([name, value]: [string, number], pbf: Pbf): void {
  pbf.writeStringField(attributeField.name, name);
  pbf.writeVarintField(attributeField.integer, value);
  pbf.writeVarintField(attributeField.type, integerAttribute);
}

function writeTensor({ name, shape, data }: Tensor, pbf: Pbf): void {
  for (const length of shape) pbf.writeVarintField(tensorField.dimension, length);
  pbf.writeVarintField(tensorField.type, elementType(data));
  pbf.writeStringField(tensorField.name, name);
  // Little-endian, as the format asks and as every machine that this Node runs on holds them.
  pbf.writeBytesField(tensorField.bytes, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

function elementType(data: Tensor['data']): number {
  if (data instanceof Float32Array) return float;
  return data instanceof Float64Array ? double : int64;
}

function writeValue({ name, type, shape, doc }: Value, pbf: Pbf): void {
  pbf.writeStringField(valueField.name, name);
  pbf.writeMessage(
    valueField.type,
    (value: Pick<Value, 'type' | 'shape'>, own) => own.writeMessage(typeTensorField, writeTensorType, value),
    { type, shape },
  );
  pbf.writeStringField(valueField.doc, doc);
}

function writeTensorType({ type, shape }: Pick<Value, 'type' | 'shape'>, pbf: Pbf): void {
  pbf.writeVarintField(tensorTypeField.element, type);
  pbf.writeMessage(tensorTypeField.shape, writeShape, shape);
}

function writeShape(shape: Value['shape'], pbf: Pbf): void {
  for (const length of shape) pbf.writeMessage(shapeDimensionField, writeDimension, length);
}

function writeDimension(length: string | number, pbf: Pbf): void {
  if (typeof length === 'number') pbf.writeVarintField(dimensionField.value, length);
  else pbf.writeStringField(dimensionField.name, length);
}
