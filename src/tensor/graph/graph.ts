import { createHash } from 'node:crypto';

/*
 * Graphs that belong to no runtime. The recorder makes them; onnx/ and xla/ translate them.
 */

/** The types of tensors in a graph. */
export type Kind = 'float32' | 'int32' | 'bool';

/** Arrays for the numbers of a tensor: 32-bit floats and integers, and truth values as bytes. */
export type Numbers = Float32Array | Int32Array | Uint8Array;

export const numbersOfKind = { float32: Float32Array, int32: Int32Array, bool: Uint8Array } as const;

export function kindOfNumbers(array: Numbers): Kind {
  if (array instanceof Float32Array) return 'float32';
  return array instanceof Int32Array ? 'int32' : 'bool';
}

export function isSameShape(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let axis = 0; axis < one.length; axis++) if (one[axis] !== other[axis]) return false;
  return true;
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

/** The operation of a node. Axes count from 0, and both inputs of arithmetic are broadcast to the shape of the output. */
export type Operation =
  | { readonly type: Arithmetic | Comparison | Elementwise | 'MatMul' | 'Reshape' | 'LogSoftmax' }
  /** To the type of the output. */
  | { readonly type: 'Cast' }
  | { readonly type: 'ReduceSum'; readonly axes: readonly number[]; readonly keepDims: boolean }
  | { readonly type: 'CumSum'; readonly axis: number; readonly exclusive: boolean; readonly reverse: boolean }
  | { readonly type: 'Transpose'; readonly perm: readonly number[] }
  | { readonly type: 'Slice'; readonly begin: readonly number[]; readonly end: readonly number[] }
  | { readonly type: 'Split'; readonly axis: number; readonly lengths: readonly number[] }
  | { readonly type: 'Concat' | 'Gather'; readonly axis: number }
  | {
      readonly type: 'Pad';
      readonly before: readonly number[];
      readonly after: readonly number[];
      readonly value: number;
    }
  /** The first input, with the rows of the third added at the places in the second. */
  | { readonly type: 'ScatterAdd' }
  | Scan;

/**
 * Nodes that run once for each part of the inputs behind the states, along their first axis. The states are the body's first inputs
 * and first outputs: each run is given what the last one made of them. What else the body makes is stacked along a first axis.
 */
export interface Scan {
  readonly type: 'Scan';
  readonly states: number;
  readonly body: Pick<Graph, 'nodes' | 'inputs' | 'outputs'>;
}

export type Arithmetic = 'Add' | 'Sub' | 'Mul' | 'Div' | 'Min' | 'Max';
export type Comparison = 'LessOrEqual' | 'GreaterOrEqual';
export type Elementwise = 'Exp' | 'Neg' | 'Sigmoid' | 'Softplus' | 'Sqrt' | 'Tanh';

/** A value in a graph; its name is unique. */
export interface GraphValue {
  readonly name: string;
  readonly shape: readonly number[];
  readonly kind: Kind;
}

export interface GraphNode {
  readonly operation: Operation;
  readonly inputs: readonly string[];
  readonly outputs: readonly GraphValue[];
}

export interface Graph {
  /** In the order of computation. */
  readonly nodes: readonly GraphNode[];
  readonly constants: readonly (GraphValue & { readonly array: Numbers })[];
  readonly inputs: readonly GraphValue[];
  readonly outputs: readonly GraphValue[];
}

/** The value, node or constant that a name in a graph stands for. @throws Error for a name that is not there */
export function named<T>(values: ReadonlyMap<string, T>, name: string): T {
  const value = values.get(name);
  if (value === undefined) throw new Error(`the graph has no value ${name}`);
  return value;
}

/** A key that is equal for graphs with equal nodes and constants. */
export function graphKey({ nodes, constants, inputs, outputs }: Graph): string {
  const hash = createHash('sha256');
  const values = constants.map(({ name, shape, kind }) => ({ name, shape, kind }));
  hash.update(JSON.stringify({ nodes, values, inputs, outputs }));
  for (const { array } of constants) hash.update(array);
  return hash.digest('hex');
}
