import { describe, expect, it } from 'vitest';
import type { Graph, GraphNode, GraphValue, Operation } from '../../../../src/tensor/graph/graph.ts';
import { resultLayout, stablehlo } from '../../../../src/tensor/xla/stablehlo.ts';

const value = (name: string, shape: readonly number[], kind: GraphValue['kind'] = 'float32'): GraphValue => ({
  name,
  shape,
  kind,
});

function node(operation: Operation, inputs: string[], ...outputs: GraphValue[]): GraphNode {
  return { operation, inputs, outputs };
}

/** Lines of a program's body, without its indent. */
function body(graph: Graph, options?: Parameters<typeof stablehlo>[1]): string[] {
  const lines = stablehlo(graph, options).split('\n');
  return lines.slice(2, lines.indexOf('}')).map((line) => line.trim());
}

/** Rows of a table by their numbers, times weights that differ between runs. */
const scores: Graph = {
  nodes: [
    node({ type: 'Gather', axis: 0 }, ['table', 'rows'], value('taken', [5, 3])),
    node({ type: 'MatMul' }, ['taken', 'weights'], value('scores', [5, 2])),
  ],
  constants: [],
  inputs: [value('table', [9, 3]), value('rows', [5], 'int32'), value('weights', [3, 2])],
  outputs: [value('scores', [5, 2])],
};

describe('a graph as StableHLO', () => {
  it('computes products in full 32-bit precision, and packs what is read', () => {
    expect(stablehlo(scores)).toBe(`module @step {
func.func public @main(%table: tensor<9x3xf32>, %rows: tensor<5xi32>, %weights: tensor<3x2xf32>) -> (tensor<10xf32>) {
  %t0 = "stablehlo.gather"(%table, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<9x3xf32>, tensor<5xi32>) -> tensor<5x3xf32>
  %t1 = stablehlo.dot_general %t0, %weights, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %t2 = stablehlo.reshape %t1 : (tensor<5x2xf32>) -> tensor<10xf32>
  %t3 = stablehlo.concatenate %t2, dim = 0 : (tensor<10xf32>) -> tensor<10xf32>
  return %t3 : tensor<10xf32>
}
}
`);
  });

  it('has a leading axis for several runs, but not on what they share', () => {
    const text = stablehlo(scores, { lanes: 4, shared: new Set(['table']) });
    expect(text).toContain(
      '%table: tensor<9x3xf32>, %rows: tensor<4x5xi32>, %weights: tensor<4x3x2xf32>) -> (tensor<4x10xf32>)',
    );
    expect(text).toContain('-> tensor<4x5x3xf32>');
    expect(text).toContain('batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST]');
    // With a table each, rows are taken in pairs.
    expect(stablehlo(scores, { lanes: 4 })).toContain(
      'collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1]',
    );
  });

  it('writes what stays over what it replaces, and returns it by itself', () => {
    const step: Graph = {
      nodes: [
        node({ type: 'Sub' }, ['weights', 'rate'], value('moved', [3, 2])),
        node({ type: 'ReduceSum', axes: [0, 1], keepDims: false }, ['weights'], value('sum', [])),
      ],
      constants: [],
      inputs: [value('weights', [3, 2]), value('rate', [1])],
      outputs: [value('sum', []), value('moved', [3, 2])],
    };
    const staying = new Map([['moved', 'weights']]);
    const text = stablehlo(step, { staying });
    expect(text).toContain('%weights: tensor<3x2xf32> {tf.aliasing_output = 0 : i32}, %rate: tensor<1xf32>)');
    expect(text).toContain('-> (tensor<3x2xf32>, tensor<1xf32>)');
    const { single, packed } = resultLayout(step, { staying });
    expect([single, packed].map((outputs) => outputs.map(({ name }) => name))).toEqual([['moved'], ['sum']]);
    expect(stablehlo(step, { staying: new Map([['moved', null]]) })).not.toContain('aliasing');
  });

  it('writes constants in bits, and one number once', () => {
    const constants = [
      { ...value('tenths', [2]), array: Float32Array.of(0.1, Number.NaN) },
      { ...value('same', [3]), array: Float32Array.of(-0, -0, -0) },
      { ...value('truth', [2], 'bool'), array: Uint8Array.of(1, 0) },
      { ...value('places', [1, 2], 'int32'), array: Int32Array.of(-1, 2) },
      { ...value('nothing', [0]), array: new Float32Array() },
    ];
    const lines = body({ nodes: [], constants, inputs: [], outputs: [value('same', [3])] });
    expect(lines.slice(0, 5)).toEqual([
      '%t0 = stablehlo.constant dense<"0xCDCCCC3D0000C07F"> : tensor<2xf32>',
      '%t1 = stablehlo.constant dense<0x80000000> : tensor<3xf32>',
      '%t2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>',
      '%t3 = stablehlo.constant dense<"0xFFFFFFFF02000000"> : tensor<1x2xi32>',
      '%t4 = stablehlo.constant dense<[]> : tensor<0xf32>',
    ]);
  });

  it('sums rows where the graph multiplies by ones', () => {
    const sumOf = (rows: number): Graph => ({
      nodes: [node({ type: 'MatMul' }, ['ones', 'x'], value('sums', [1, 2]))],
      constants: [{ ...value('ones', [1, rows]), array: new Float32Array(rows).fill(1) }],
      inputs: [value('x', [rows, 2])],
      outputs: [value('sums', [1, 2])],
    });
    expect(stablehlo(sumOf(9))).toContain('applies stablehlo.add across dimensions = [0]');
    expect(stablehlo(sumOf(9))).not.toContain('dot_general');
    // Few rows one by one, which needs no kernel of its own.
    expect(body(sumOf(2)).slice(1, 4)).toEqual([
      '%t1 = stablehlo.slice %x [0:1, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>',
      '%t2 = stablehlo.slice %x [1:2, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>',
      '%t3 = stablehlo.add %t1, %t2 : tensor<1x2xf32>',
    ]);
  });

  it('aligns what is broadcast at the end, behind the runs', () => {
    const graph: Graph = {
      nodes: [node({ type: 'Add' }, ['x', 'bias'], value('y', [5, 2]))],
      constants: [],
      inputs: [value('x', [5, 2]), value('bias', [2])],
      outputs: [value('y', [5, 2])],
    };
    expect(body(graph, { lanes: 3 })[0]).toBe(
      '%t0 = stablehlo.broadcast_in_dim %bias, dims = [0,2] : (tensor<3x2xf32>) -> tensor<3x5x2xf32>',
    );
    expect(body(graph, { lanes: 3, shared: new Set(['bias']) })[0]).toContain('dims = [2] : (tensor<2xf32>)');
  });

  it('gives an output the leading axis although no run changes it', () => {
    const graph: Graph = { nodes: [], constants: [], inputs: [value('x', [2])], outputs: [value('x', [2])] };
    expect(stablehlo(graph, { lanes: 3, shared: new Set(['x']) })).toContain('-> (tensor<3x2xf32>)');
  });

  it('copies a shared table for each lane where its columns are gathered by places that differ', () => {
    const graph: Graph = {
      nodes: [node({ type: 'Gather', axis: 1 }, ['table', 'places'], value('taken', [9, 5]))],
      constants: [],
      inputs: [value('table', [9, 3]), value('places', [5], 'int32')],
      outputs: [value('taken', [9, 5])],
    };
    const [copied, gathered] = body(graph, { lanes: 2, shared: new Set(['table']) });
    expect(copied).toBe(
      '%t0 = stablehlo.broadcast_in_dim %table, dims = [1,2] : (tensor<9x3xf32>) -> tensor<2x9x3xf32>',
    );
    expect(gathered).toContain('operand_batching_dims = [0]');
  });
});
