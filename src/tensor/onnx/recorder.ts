import type { Numbers, Resident } from './engine.ts';
import { bool, float, int32, type OnnxNode, type OnnxTensor, type OnnxValue, onnxFile } from './onnx-file.ts';

/** The types of tensors that this backend knows. */
export type Kind = 'float32' | 'int32' | 'bool';

const onnxTypes: Readonly<Record<Kind, number>> = { float32: float, int32, bool };

/** TensorProto.DataType of a tensor's type, for casts. */
export function onnxTypeOf(kind: Kind): number {
  return onnxTypes[kind];
}

/** What one or several tensors of tfjs stand for: an array, or a node of a graph that has not run. */
export interface Value {
  readonly shape: readonly number[];
  readonly kind: Kind;
  /** The graph during which it came up. */
  readonly recorder: Recorder;
  /** Null while its node has not run, or its rows were not gathered. */
  array: Numbers | null;
  /** The same numbers in the device's memory, with an array or instead of one. */
  resident: Resident | null;
  /** Whether a graph was given the array. */
  wasFed: boolean;
  readonly taken?: TakenRows;
  /** How many tensors share it. */
  references: number;
}

/** Rows of a table by their numbers: what a value is that a graph gathers for itself. */
export interface TakenRows {
  readonly table: Value;
  readonly numbers: Value;
}

/** Whether there are numbers, so that a graph need not make them. */
export function isKnown({ array, resident }: Value): boolean {
  return array !== null || resident !== null;
}

type Appended = Pick<OnnxNode, 'type' | 'attributes'>;
type Described = Pick<Value, 'shape' | 'kind'>;
type Operand = readonly number[] | number;

/** A graph while kernels append nodes to it. */
export class Recorder {
  private readonly nodes: { readonly node: OnnxNode; readonly values: readonly Value[] }[] = [];
  private readonly constants: OnnxTensor[] = [];
  private readonly names = new Map<Value, string>();

  /** Nodes so far. */
  get length(): number {
    return this.nodes.length;
  }

  /** Values that nodes made, in their order. */
  get made(): Value[] {
    return this.nodes.flatMap(({ values }) => values);
  }

  /** Values with numbers that nodes read, in the order of their first use. */
  get read(): Value[] {
    return Array.from(this.names.keys()).filter(isKnown);
  }

  /** Whether nodes read or made the value. */
  holds(value: Value): boolean {
    return this.names.has(value);
  }

  /** The value's name in the graph; nodes need unique ones, and so do the values that they read. */
  nameOf(value: Value): string {
    const known = this.names.get(value);
    if (known !== undefined) return known;
    const name = `v${this.names.size}`;
    this.names.set(value, name);
    return name;
  }

  /** Appends a node. `operands` are further inputs that are known, such as the axes of a sum. */
  append(
    node: Appended,
    inputs: readonly Value[],
    { shape, kind, operands }: Described & { operands?: readonly Operand[] },
  ): Value {
    return this.appendSeveral(node, inputs, { outputs: [{ shape, kind }], operands })[0];
  }

  /** The same for a node with several outputs. */
  appendSeveral(
    node: Appended,
    inputs: readonly Value[],
    { outputs, operands = [] }: { outputs: readonly Described[]; operands?: readonly Operand[] | undefined },
  ): Value[] {
    const names = [...inputs.map((input) => this.nameOf(input)), ...operands.map((own) => this.constant(own))];
    const values = outputs.map(
      ({ shape, kind }): Value => ({
        shape,
        kind,
        recorder: this,
        array: null,
        resident: null,
        wasFed: false,
        references: 1,
      }),
    );
    this.nodes.push({ node: { ...node, inputs: names, outputs: values.map((value) => this.nameOf(value)) }, values });
    return values;
  }

  private constant(operand: Operand): string {
    const name = `c${this.constants.length}`;
    this.constants.push(
      typeof operand === 'number'
        ? { name, shape: [], data: Float32Array.of(operand) }
        : { name, shape: [operand.length], data: BigInt64Array.from(operand, BigInt) },
    );
    return name;
  }

  /** The ONNX file of what the outputs need. Values that were read and are not inputs become constants. */
  file({ inputs, outputs }: { inputs: readonly Value[]; outputs: readonly Value[] }): Uint8Array {
    const needed = new Set(outputs.map((value) => this.nameOf(value)));
    const nodes: OnnxNode[] = [];
    for (const { node } of this.nodes.toReversed())
      if (node.outputs.some((output) => needed.has(output))) {
        nodes.unshift(node);
        for (const input of node.inputs) needed.add(input);
      }
    const fixed = this.read.flatMap((value): OnnxTensor[] =>
      value.array === null || inputs.includes(value)
        ? []
        : [{ name: this.nameOf(value), shape: value.shape, data: value.array }],
    );
    const described = (value: Value): OnnxValue => ({
      name: this.nameOf(value),
      type: onnxTypeOf(value.kind),
      shape: value.shape,
    });
    return onnxFile({
      name: 'step',
      nodes,
      constants: [...this.constants, ...fixed].filter(({ name }) => needed.has(name)),
      inputs: inputs.map(described),
      outputs: outputs.map(described),
    });
  }
}
