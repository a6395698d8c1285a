import type { Resident } from './engine.ts';
import type { Graph, GraphNode, GraphValue, Kind, Numbers, Operation } from './graph.ts';

/** The value behind one or several tensors of tfjs: an array, or a node of a graph that has not run. */
export interface Value {
  readonly shape: readonly number[];
  readonly kind: Kind;
  /** The graph during which it came up. */
  readonly recorder: Recorder;
  /** Null while its node has not run. */
  array: Numbers | null;
  /** The numbers in the device's memory, with an array or instead of one. */
  resident: Resident | null;
  /** Whether a graph was given the array. */
  wasFed: boolean;
  /** How many tensors share it. */
  references: number;
}

/** Whether there are numbers, so that a graph need not make them. */
export function isKnown({ array, resident }: Value): boolean {
  return array !== null || resident !== null;
}

type Described = Pick<Value, 'shape' | 'kind'>;

/** A graph while kernels append nodes to it. */
export class Recorder {
  private readonly nodes: { readonly node: GraphNode; readonly values: readonly Value[] }[] = [];
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
    const existing = this.names.get(value);
    if (existing !== undefined) return existing;
    const name = `v${this.names.size}`;
    this.names.set(value, name);
    return name;
  }

  /** Appends a node. */
  append(operation: Operation, inputs: readonly Value[], output: Described): Value {
    return this.appendSeveral(operation, inputs, [output])[0];
  }

  /** Appends a node with several outputs. */
  appendSeveral(operation: Operation, inputs: readonly Value[], outputs: readonly Described[]): Value[] {
    const names = inputs.map((input) => this.nameOf(input));
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
    const node = { operation, inputs: names, outputs: values.map((value) => this.described(value)) };
    this.nodes.push({ node, values });
    return values;
  }

  private described(value: Value): GraphValue {
    return { name: this.nameOf(value), shape: value.shape, kind: value.kind };
  }

  /** The graph of what the outputs need. Values that were read and are not inputs become constants. */
  graph({ inputs, outputs }: { inputs: readonly Value[]; outputs: readonly Value[] }): Graph {
    const needed = new Set(outputs.map((value) => this.nameOf(value)));
    const nodes: GraphNode[] = [];
    for (const { node } of this.nodes.toReversed())
      if (node.outputs.some(({ name }) => needed.has(name))) {
        nodes.unshift(node);
        for (const input of node.inputs) needed.add(input);
      }
    const constants = this.read.flatMap((value) =>
      value.array === null || inputs.includes(value) || !needed.has(this.nameOf(value))
        ? []
        : [{ ...this.described(value), array: value.array }],
    );
    return {
      nodes,
      constants,
      inputs: inputs.map((value) => this.described(value)),
      outputs: outputs.map((value) => this.described(value)),
    };
  }
}
