import Pbf from 'pbf';

/*
 * Graphs as ONNX files (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), opset 17.
 */

const irVersion = 8;
const opset = 17;

/** TensorProto.DataType. */
export const float = 1;
export const int32 = 6;
export const int64 = 7;
export const bool = 9;
export const double = 11;

/** Field numbers of onnx.proto, as far as our graphs need them. */
const modelField = { irVersion: 1, producer: 2, graph: 7, opset: 8 } as const;
const opsetVersionField = 2;
const graphField = { node: 1, name: 2, initializer: 5, input: 11, output: 12 } as const;
const nodeField = { input: 1, output: 2, name: 3, type: 4, attribute: 5 } as const;
const attributeField = { name: 1, integer: 3, string: 4, graph: 6, integers: 8, type: 20 } as const;
const attributeType = { integer: 2, string: 3, graph: 5, integers: 7 } as const;
const tensorField = { dimension: 1, type: 2, name: 8, bytes: 9 } as const;
const valueField = { name: 1, type: 2, doc: 10 } as const;
const typeTensorField = 1;
const tensorTypeField = { element: 1, shape: 2 } as const;
const shapeDimensionField = 1;
const dimensionField = { value: 1, name: 2 } as const;

type Attribute = number | readonly number[] | string | OnnxGraph;

export interface OnnxNode {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** An integer each, several, a word, or a graph. */
  readonly attributes?: Readonly<Record<string, Attribute>>;
}

export interface OnnxTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;
}

export interface OnnxValue {
  readonly name: string;
  readonly type: number;
  /** A name for a length that is free. */
  readonly shape: readonly (string | number)[];
  readonly doc?: string;
}

export interface OnnxGraph {
  readonly name: string;
  /** In the order of computation. */
  readonly nodes: readonly OnnxNode[];
  readonly constants: readonly OnnxTensor[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

/** The bytes of the file. */
export function onnxFile(graph: OnnxGraph): Uint8Array {
  const pbf = new Pbf();
  pbf.writeVarintField(modelField.irVersion, irVersion);
  pbf.writeStringField(modelField.producer, 'earshot');
  pbf.writeMessage(modelField.graph, writeGraph, graph);
  pbf.writeMessage(
    modelField.opset,
    (version: number, writer) => writer.writeVarintField(opsetVersionField, version),
    opset,
  );
  return pbf.finish();
}

function writeGraph(graph: OnnxGraph, pbf: Pbf): void {
  for (const node of graph.nodes) pbf.writeMessage(graphField.node, writeNode, node);
  pbf.writeStringField(graphField.name, graph.name);
  for (const constant of graph.constants) pbf.writeMessage(graphField.initializer, writeTensor, constant);
  for (const input of graph.inputs) pbf.writeMessage(graphField.input, writeValue, input);
  for (const output of graph.outputs) pbf.writeMessage(graphField.output, writeValue, output);
}

function writeNode({ type, inputs, outputs, attributes = {} }: OnnxNode, pbf: Pbf): void {
  for (const input of inputs) pbf.writeStringField(nodeField.input, input);
  for (const output of outputs) pbf.writeStringField(nodeField.output, output);
  pbf.writeStringField(nodeField.name, outputs[0]);
  pbf.writeStringField(nodeField.type, type);
  for (const attribute of Object.entries(attributes)) pbf.writeMessage(nodeField.attribute, writeAttribute, attribute);
}

function writeAttribute([name, value]: [string, Attribute], pbf: Pbf): void {
  pbf.writeStringField(attributeField.name, name);
  if (typeof value === 'number') {
    pbf.writeVarintField(attributeField.integer, value);
    pbf.writeVarintField(attributeField.type, attributeType.integer);
  } else if (typeof value === 'string') {
    pbf.writeStringField(attributeField.string, value);
    pbf.writeVarintField(attributeField.type, attributeType.string);
  } else if ('nodes' in value) {
    pbf.writeMessage(attributeField.graph, writeGraph, value);
    pbf.writeVarintField(attributeField.type, attributeType.graph);
  } else {
    for (const one of value) pbf.writeVarintField(attributeField.integers, one);
    pbf.writeVarintField(attributeField.type, attributeType.integers);
  }
}

function writeTensor({ name, shape, data }: OnnxTensor, pbf: Pbf): void {
  for (const length of shape) pbf.writeVarintField(tensorField.dimension, length);
  pbf.writeVarintField(tensorField.type, elementType(data));
  pbf.writeStringField(tensorField.name, name);
  // Little-endian, as the format asks and as every machine that this Node runs on holds them.
  pbf.writeBytesField(tensorField.bytes, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

function elementType(data: OnnxTensor['data']): number {
  if (data instanceof Float32Array) return float;
  if (data instanceof Int32Array) return int32;
  if (data instanceof Uint8Array) return bool;
  return data instanceof Float64Array ? double : int64;
}

function writeValue({ name, type, shape, doc }: OnnxValue, pbf: Pbf): void {
  pbf.writeStringField(valueField.name, name);
  pbf.writeMessage(
    valueField.type,
    (value: Pick<OnnxValue, 'type' | 'shape'>, writer) => writer.writeMessage(typeTensorField, writeTensorType, value),
    { type, shape },
  );
  if (doc !== undefined) pbf.writeStringField(valueField.doc, doc);
}

function writeTensorType({ type, shape }: Pick<OnnxValue, 'type' | 'shape'>, pbf: Pbf): void {
  pbf.writeVarintField(tensorTypeField.element, type);
  pbf.writeMessage(tensorTypeField.shape, writeShape, shape);
}

function writeShape(shape: OnnxValue['shape'], pbf: Pbf): void {
  for (const length of shape) pbf.writeMessage(shapeDimensionField, writeDimension, length);
}

function writeDimension(length: string | number, pbf: Pbf): void {
  if (typeof length === 'number') pbf.writeVarintField(dimensionField.value, length);
  else pbf.writeStringField(dimensionField.name, length);
}
