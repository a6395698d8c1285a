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
  /** Of the `Scan` in hand: its nodes, and the values that differ from run to run. */
  private body: { readonly nodes: GraphNode[]; readonly values: Set<Value> } | null = null;
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
    const values = outputs.map((output) => this.pending(output));
    const node = { operation, inputs: names, outputs: values.map((value) => this.described(value)) };
    const { body } = this;
    // What is the same in every run of a body is computed before.
    if (body === null || !inputs.some((input) => body.values.has(input))) this.nodes.push({ node, values });
    else {
      body.nodes.push(node);
      for (const value of values) body.values.add(value);
    }
    return values;
  }

  /**
   * Appends a node that repeats others.
   * @param inputs states, then what each run is given its part of
   * @param record appends the nodes of a run; of its inputs it makes the states again, and outputs behind them
   */
  scan(inputs: readonly Value[], states: number, record: (inputs: readonly Value[]) => readonly Value[]): Value[] {
    const [runs] = inputs[states].shape;
    const given = inputs.map(({ shape, kind }, place) =>
      this.pending({ shape: place < states ? shape : shape.slice(1), kind }),
    );
    const nodes: GraphNode[] = [];
    const body = { nodes, values: new Set(given) };
    this.body = body;
    try {
      const results = record(given);
      if (!results.every((value) => body.values.has(value)))
        throw new Error('a repeated step returns a tensor that is the same at every step; compute it before');
      const described = results.map((value) => this.described(value));
      const operation: Operation = {
        type: 'Scan',
        states,
        body: {
          nodes: nodesFor(new Set(described.map(({ name }) => name)), nodes),
          inputs: given.map((value) => this.described(value)),
          outputs: described,
        },
      };
      this.body = null;
      const outputs = results.map(({ shape, kind }, place) => ({
        shape: place < states ? shape : [runs, ...shape],
        kind,
      }));
      return this.appendSeveral(operation, inputs, outputs);
    } finally {
      this.body = null;
    }
  }

  private pending({ shape, kind }: Described): Value {
    return { shape, kind, recorder: this, array: null, resident: null, wasFed: false, references: 1 };
  }

  private described(value: Value): GraphValue {
    return { name: this.nameOf(value), shape: value.shape, kind: value.kind };
  }

  /** The graph of what the outputs need. Values that were read and are not inputs become constants. */
  graph({ inputs, outputs }: { inputs: readonly Value[]; outputs: readonly Value[] }): Graph {
    const needed = new Set(outputs.map((value) => this.nameOf(value)));
    const nodes = nodesFor(
      needed,
      this.nodes.map(({ node }) => node),
    );
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

/** The nodes that make what is needed; what they read is added to it. */
function nodesFor(needed: Set<string>, nodes: readonly GraphNode[]): GraphNode[] {
  const kept: GraphNode[] = [];
  for (const node of nodes.toReversed())
    if (node.outputs.some(({ name }) => needed.has(name))) {
      kept.unshift(node);
      for (const input of readBy(node)) needed.add(input);
    }
  return kept;
}

function readBy({ operation, inputs }: GraphNode): string[] {
  return operation.type === 'Scan' ? [...inputs, ...operation.body.nodes.flatMap(readBy)] : [...inputs];
}
