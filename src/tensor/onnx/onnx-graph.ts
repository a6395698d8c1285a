import type { Graph, GraphNode, GraphValue, Kind } from '../graph/graph.ts';
import { bool, float, int32, int64, type OnnxNode, type OnnxTensor, type OnnxValue, onnxFile } from './onnx-file.ts';

/*
 * A recorded graph as an ONNX file. Kinds of nodes have ONNX's names; what differs is where a node's numbers stand, among its
 * attributes or as constants.
 */

const onnxTypes: Readonly<Record<Kind, number>> = { float32: float, int32, bool };

export function onnxGraph({ nodes, constants, inputs, outputs }: Graph): Uint8Array {
  const operands: OnnxTensor[] = [];
  const merged = new Map<string, OnnxTensor>();
  const nameOf = new Map<string, string>();
  for (const { name, shape, kind, array } of constants) {
    const content = `${kind} ${shape} ${array}`;
    const first = merged.get(content) ?? { name, shape, data: array };
    merged.set(content, first);
    nameOf.set(name, first.name);
  }
  return onnxFile({
    name: 'step',
    nodes: nodes.flatMap((node) => onnxNodes(node, { operands, nameOf })),
    constants: [...operands, ...merged.values()],
    inputs: inputs.map(described),
    outputs: outputs.map(described),
  });
}

function described({ name, shape, kind }: GraphValue): OnnxValue {
  return { name, type: onnxTypes[kind], shape };
}

interface Constants {
  /** Of nodes, which are attributes in our graphs. */
  readonly operands: OnnxTensor[];
  /** Equal constants have one name: ONNX Runtime computes once what has the same inputs, but compares them by their names. */
  readonly nameOf: ReadonlyMap<string, string>;
}

function onnxNodes(recorded: GraphNode, constants: Constants): OnnxNode[] {
  const { operation, outputs } = recorded;
  const { operands, nameOf } = constants;
  const inputs = recorded.inputs.map((name) => nameOf.get(name) ?? name);
  const operand = (numbers: readonly number[] | number): string => {
    const name = `c${operands.length}`;
    operands.push(
      typeof numbers === 'number'
        ? { name, shape: [], data: Float32Array.of(numbers) }
        : { name, shape: [numbers.length], data: BigInt64Array.from(numbers, BigInt) },
    );
    return name;
  };
  const [output] = outputs;
  const names = outputs.map(({ name }) => name);
  const node = (attributes?: OnnxNode['attributes'], more: readonly string[] = []): OnnxNode[] => [
    { type: operation.type, inputs: [...inputs, ...more], outputs: names, ...(attributes && { attributes }) },
  ];
  switch (operation.type) {
    case 'ReduceSum':
      return node({ keepdims: Number(operation.keepDims) }, [operand(operation.axes)]);
    case 'LogSoftmax':
      return node({ axis: output.shape.length - 1 });
    case 'CumSum':
      return node({ exclusive: Number(operation.exclusive), reverse: Number(operation.reverse) }, [
        operand([operation.axis]),
      ]);
    case 'Cast':
      return node({ to: onnxTypes[output.kind] });
    case 'Reshape':
      return node(undefined, [operand(output.shape)]);
    case 'Transpose':
      return node({ perm: operation.perm });
    case 'Slice': {
      const { begin, end } = operation;
      return node(undefined, [begin, end, begin.map((_, axis) => axis)].map(operand));
    }
    case 'Split':
      return node({ axis: operation.axis }, [operand(operation.lengths)]);
    case 'Concat':
    case 'Gather':
      return node({ axis: operation.axis });
    case 'Pad':
      return node(undefined, [operand([...operation.before, ...operation.after]), operand(operation.value)]);
    case 'ScatterAdd': {
      // ONNX takes 64-bit places only.
      const [onto, places, updates] = inputs;
      const wide = `${output.name}places`;
      return [
        { type: 'Cast', inputs: [places], outputs: [wide], attributes: { to: int64 } },
        { type: 'ScatterND', inputs: [onto, wide, updates], outputs: names, attributes: { reduction: 'add' } },
      ];
    }
    case 'Scan': {
      const { nodes, inputs: given, outputs: made } = operation.body;
      const body = {
        name: 'body',
        nodes: nodes.flatMap((node) => onnxNodes(node, constants)),
        constants: [],
        inputs: given.map(described),
        outputs: made.map(described),
      };
      return node({ num_scan_inputs: inputs.length - operation.states, body });
    }
    default:
      return node();
  }
}
