import {
  type Arithmetic,
  type Comparison,
  type Elementwise,
  type Graph,
  type GraphNode,
  type GraphValue,
  isSameShape,
  type Kind,
  type Numbers,
  named,
  type Operation,
} from '../graph/graph.ts';

/*
 * A recorded graph as StableHLO text (https://openxla.org/stablehlo/spec). With lanes, the graph of one run computes several at
 * once, as JAX's vmap does: inputs that differ between runs, and all that depends on them, get a leading axis.
 */

/** How the results of a program stand for the outputs of its graph. */
export interface ResultLayout {
  /** Outputs that are a result each, in their order. */
  readonly single: readonly GraphValue[];
  /** Outputs that are the last result together, one behind the other, so that one copy brings them all. */
  readonly packed: readonly GraphValue[];
}

export interface ProgramOptions {
  /** How many runs at once; 0 without the leading axis. */
  readonly lanes?: number;
  /** Inputs that all lanes share. */
  readonly shared?: ReadonlySet<string>;
  /** Outputs that stay on the device, with the inputs that they replace, or null: the program may write one over the other. */
  readonly staying?: ReadonlyMap<string, string | null>;
}

/** Floats that are read packed in one result; whatever stays, and other types, are results of their own. */
export function resultLayout({ outputs }: Graph, { staying = new Map() }: ProgramOptions = {}): ResultLayout {
  const isPacked = ({ name, kind }: GraphValue) => kind === 'float32' && !staying.has(name);
  return { single: outputs.filter((output) => !isPacked(output)), packed: outputs.filter(isPacked) };
}

export function stablehlo(graph: Graph, options: ProgramOptions = {}): string {
  const { lanes = 0, shared = new Set(), staying = new Map() } = options;
  const program = new Program(lanes);
  const inputs = graph.inputs.map(({ name, shape, kind }) => {
    const isWide = lanes > 0 && !shared.has(name);
    const value = { text: `%${name}`, shape: isWide ? [lanes, ...shape] : shape, kind, isWide };
    program.values.set(name, value);
    return value;
  });
  for (const { name, shape, kind, array } of graph.constants) program.constant(name, { shape, kind, array });
  for (const node of graph.nodes) program.append(node);
  const { single, packed } = resultLayout(graph, options);
  const results = single.map((output) => program.widened(output));
  const packs = packed.map((output) => program.flat(output));
  if (packs.length > 0) results.push(program.concatenated(packs));
  const places = new Map(single.map(({ name }, place) => [staying.get(name), place]));
  const parameters = inputs.map((input, index) => {
    const place = places.get(graph.inputs[index].name);
    return `${input.text}: ${typeOf(input)}${place === undefined ? '' : ` {tf.aliasing_output = ${place} : i32}`}`;
  });
  const types = results.map(typeOf).join(', ');
  return `module @step {
func.func public @main(${parameters.join(', ')}) -> (${types}) {
${program.lines.join('\n')}
  return ${results.map(({ text }) => text).join(', ')} : ${types}
}
}
`;
}

/** A value as it stands in the text: with the leading axis where it has one. */
interface Value {
  readonly text: string;
  readonly shape: readonly number[];
  readonly kind: Kind;
  readonly isWide: boolean;
}
type Type = Pick<Value, 'shape' | 'kind'>;

const elements: Readonly<Record<Kind, string>> = { float32: 'f32', int32: 'i32', bool: 'i1' };

function typeOf({ shape, kind }: Type): string {
  return `tensor<${shape.map((length) => `${length}x`).join('')}${elements[kind]}>`;
}

function literal(number: number, kind: Kind): string {
  if (kind === 'bool') return number === 0 ? 'false' : 'true';
  // In bits, for a decimal may round and there is none for what is not finite.
  return kind === 'int32' ? String(number) : `0x${hexOf(Float32Array.of(number), true)}`;
}

function hexOf({ buffer, byteOffset, byteLength }: Numbers, isBigEndian = false): string {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return (isBigEndian ? Buffer.from(bytes).reverse() : bytes).toString('hex').toUpperCase();
}

const arithmetic: Readonly<Record<Arithmetic, string>> = {
  Add: 'add',
  Sub: 'subtract',
  Mul: 'multiply',
  Div: 'divide',
  Min: 'minimum',
  Max: 'maximum',
};

const comparisons: Readonly<Record<Comparison, string>> = {
  LessOrEqual: 'LE',
  GreaterOrEqual: 'GE',
};
const comparedAs: Readonly<Record<Kind, string>> = { float32: 'FLOAT', int32: 'SIGNED', bool: 'UNSIGNED' };

const functions: Readonly<Record<Exclude<Elementwise, 'Softplus'>, string>> = {
  Exp: 'exponential',
  Neg: 'negate',
  Sigmoid: 'logistic',
  Sqrt: 'sqrt',
  Tanh: 'tanh',
};

/** Reductions of so few numbers are arithmetic, which a GPU computes in the kernel of what is around it. */
const mostTerms = 4;

class Program {
  readonly lines: string[] = [];
  readonly values = new Map<string, Value>();
  /** Constants [1, rows] of ones: a product with them is a sum. */
  private readonly ones = new Set<string>();
  private readonly lanes: number;

  constructor(lanes: number) {
    this.lanes = lanes;
  }

  constant(name: string, { shape, kind, array }: Type & { array: Numbers }): void {
    const isSplat = array.length > 0 && array.every((number) => Object.is(number, array[0]));
    if (isSplat && array[0] === 1 && shape.length === 2 && shape[0] === 1) this.ones.add(name);
    this.values.set(name, isSplat ? this.splat(array[0], { shape, kind }) : this.numbers(array, { shape, kind }));
  }

  private numbers(array: Numbers, { shape, kind }: Type): Value {
    if (array.length > 0 && kind !== 'bool') return this.line(`constant dense<"0x${hexOf(array)}">`, { shape, kind });
    const list = Array.from(array, (number) => literal(number, kind)).join(', ');
    return this.reshaped(this.line(`constant dense<[${list}]>`, { shape: [array.length], kind }), shape);
  }

  /** One operation, whose text ends before its types: that of the result, or those of the operands with it. */
  private line(text: string, type: Type & { isWide?: boolean }, from: readonly Type[] | string = typeOf(type)): Value {
    const { shape, kind, isWide = false } = type;
    const value = { text: `%t${this.lines.length}`, shape, kind, isWide };
    const types = typeof from === 'string' ? from : `(${from.map(typeOf).join(', ')}) -> ${typeOf(type)}`;
    this.lines.push(`  ${value.text} = ${text.startsWith('"') ? text : `stablehlo.${text}`} : ${types}`);
    return value;
  }

  private splat(number: number, type: Type): Value {
    return this.line(`constant dense<${literal(number, type.kind)}>`, type);
  }

  private scalar(number: number, kind: Kind): Value {
    return this.splat(number, { shape: [], kind });
  }

  /** A function of a value. */
  private one(name: string, x: Value): Value {
    return this.line(`${name} ${x.text}`, x);
  }

  /** An operation on two values of one shape. */
  private two(name: string, a: Value, b: Value): Value {
    return this.line(`${name} ${a.text}, ${b.text}`, { ...a, isWide: a.isWide || b.isWide });
  }

  private reshaped(x: Value, shape: readonly number[]): Value {
    return isSameShape(x.shape, shape) ? x : this.line(`reshape ${x.text}`, { ...x, shape }, [x]);
  }

  /** To a shape without the leading axis, which stays in front; the other axes align at the end. */
  private broadcast(x: Value, inner: readonly number[], isWide: boolean): Value {
    const shape = isWide ? [this.lanes, ...inner] : inner;
    if (isSameShape(x.shape, shape)) return { ...x, isWide };
    const ahead = shape.length - x.shape.length;
    const axes = x.shape.map((_, axis) => (axis === 0 && x.isWide ? 0 : axis + ahead));
    return this.line(`broadcast_in_dim ${x.text}, dims = [${axes}]`, { shape, kind: x.kind, isWide }, [x]);
  }

  /** An output, with the leading axis although nothing of it depends on a run. */
  widened({ name, shape }: GraphValue): Value {
    return this.broadcast(named(this.values, name), shape, this.lanes > 0);
  }

  /** An output as one row of each lane. */
  flat(output: GraphValue): Value {
    const length = output.shape.reduce((product, size) => product * size, 1);
    return this.reshaped(this.widened(output), this.lanes > 0 ? [this.lanes, length] : [length]);
  }

  concatenated(parts: readonly Value[], axis = parts[0].shape.length - 1): Value {
    const [first] = parts;
    const length = parts.reduce((sum, { shape }) => sum + shape[axis], 0);
    const names = parts.map(({ text }) => text).join(', ');
    return this.line(`concatenate ${names}, dim = ${axis}`, { ...first, shape: first.shape.with(axis, length) }, parts);
  }

  private reduced(name: string, x: Value, { axes, from }: { axes: readonly number[]; from: number }): Value {
    const [axis] = axes;
    const shape = x.shape.filter((_, dimension) => !axes.includes(dimension));
    if (axes.length === 1 && x.shape[axis] <= mostTerms) {
      const first = x.shape.map(() => 0);
      const terms = Array.from({ length: x.shape[axis] }, (_, place) =>
        this.sliced(x, first.with(axis, place), x.shape.with(axis, place + 1)),
      );
      return this.reshaped(
        terms.reduce((sum, term) => this.two(name, sum, term)),
        shape,
      );
    }
    const start = this.scalar(from, x.kind);
    return this.line(
      `reduce(${x.text} init: ${start.text}) applies stablehlo.${name} across dimensions = [${axes}]`,
      { ...x, shape },
      [x, start],
    );
  }

  /** Repeats a sum or largest number for every place of the last axis. */
  private ofRow(name: string, x: Value, from: number): Value {
    const row = this.reduced(name, x, { axes: [x.shape.length - 1], from });
    return this.reshaped(row, [...row.shape, 1]);
  }

  /** A product of all, down the rows. */
  private overRow(x: Value, row: Value): Value {
    return this.broadcast(row, innerOf(x), x.isWide);
  }

  append({ operation, inputs, outputs }: GraphNode): void {
    const operands = inputs.map((name) => named(this.values, name));
    if (operation.type === 'Split') {
      const [x] = operands;
      const axis = operation.axis + Number(x.isWide);
      let start = 0;
      for (const [index, length] of operation.lengths.entries()) {
        const begin = x.shape.map((_, dimension) => (dimension === axis ? start : 0));
        start += length;
        const end = x.shape.map((size, other) => (other === axis ? start : size));
        this.values.set(outputs[index].name, this.sliced(x, begin, end));
      }
      return;
    }
    const isWide = operands.some((value) => value.isWide);
    this.values.set(outputs[0].name, {
      ...this.computed(operation, { inputs, operands, isWide, of: outputs[0] }),
      isWide,
    });
  }

  private computed(
    operation: Exclude<Operation, { type: 'Split' }>,
    options: { inputs: readonly string[]; operands: readonly Value[]; isWide: boolean; of: GraphValue },
  ): Value {
    const { inputs, operands, isWide } = options;
    const { shape: inner, kind } = options.of;
    const [x, y] = operands;
    const shape = isWide ? [this.lanes, ...inner] : inner;
    const output = { shape, kind, isWide };
    /** Axes that stand before those of the graph, in the first input. */
    const ahead = Number(x.isWide);
    const inFront = (numbers: readonly number[], front: number) => (x.isWide ? [front, ...numbers] : numbers);
    const both = (): [Value, Value] => [this.broadcast(x, inner, isWide), this.broadcast(y, inner, isWide)];

    switch (operation.type) {
      case 'LessOrEqual':
      case 'GreaterOrEqual': {
        const [a, b] = both();
        const how = `${comparisons[operation.type]}, ${a.text}, ${b.text}, ${comparedAs[x.kind]}`;
        return this.line(`compare ${how}`, output, [a, b]);
      }
      case 'Softplus': {
        // max(x, 0) + log(1 + exp(−|x|))
        const below = this.one('exponential', this.one('negate', this.one('abs', x)));
        return this.two('add', this.two('maximum', x, this.splat(0, x)), this.one('log_plus_one', below));
      }
      case 'ReduceSum': {
        const axes = operation.axes.map((axis) => axis + ahead);
        return this.reshaped(this.reduced('add', x, { axes, from: 0 }), shape);
      }
      case 'LogSoftmax': {
        const largest = this.ofRow('maximum', x, Number.NEGATIVE_INFINITY);
        const below = this.two('subtract', x, this.overRow(x, largest));
        const sum = this.ofRow('add', this.one('exponential', below), 0);
        return this.two('subtract', below, this.overRow(x, this.one('log', sum)));
      }
      case 'CumSum': {
        const axis = operation.axis + ahead;
        const length = x.shape[axis];
        const before = operation.exclusive ? [length, -1] : [length - 1, 0];
        const padding = x.shape.map((_, dimension) =>
          dimension === axis ? (operation.reverse ? before.toReversed() : before) : [0, 0],
        );
        const window = x.shape.map((_, dimension) => (dimension === axis ? length : 1));
        const start = this.scalar(0, x.kind);
        const text = `"stablehlo.reduce_window"(${x.text}, ${start.text}) <{padding = dense<[${padding.map((pair) => `[${pair}]`)}]> : tensor<${x.shape.length}x2xi64>, window_dimensions = array<i64: ${window}>}> (${adding(x.kind)})`;
        return this.line(text, output, [x, start]);
      }
      case 'MatMul':
        return this.product(inputs[0], { x, y, output });
      case 'Cast':
        return this.line(`convert ${x.text}`, output, [x]);
      case 'Reshape':
        return this.reshaped(x, shape);
      case 'Transpose': {
        const perm = inFront(
          operation.perm.map((axis) => axis + ahead),
          0,
        );
        return this.line(`transpose ${x.text}, dims = [${perm}]`, output, [x]);
      }
      case 'Slice':
        return this.sliced(x, inFront(operation.begin, 0), inFront(operation.end, this.lanes));
      case 'Concat': {
        const parts = operands.map((value) => this.broadcast(value, innerOf(value), isWide));
        return this.concatenated(parts, operation.axis + Number(isWide));
      }
      case 'Pad': {
        const [low, high] = [operation.before, operation.after].map((sizes) => inFront(sizes, 0));
        const filler = this.scalar(operation.value, x.kind);
        const edges = `low = [${low}], high = [${high}], interior = [${low.map(() => 0)}]`;
        return this.line(`pad ${x.text}, ${filler.text}, ${edges}`, output, [x, filler]);
      }
      case 'Gather':
        return this.gathered(x, y, { axis: operation.axis, output });
      case 'Scan':
        throw new Error('programs of XLA repeat no nodes');
      case 'ScatterAdd':
        return this.scattered(operands, output);
      default:
        return isArithmetic(operation.type)
          ? this.two(arithmetic[operation.type], ...both())
          : this.one(functions[operation.type], x);
    }
  }

  private sliced(x: Value, begin: readonly number[], end: readonly number[]): Value {
    const ranges = begin.map((start, axis) => `${start}:${end[axis]}`).join(', ');
    const shape = begin.map((start, axis) => end[axis] - start);
    return this.line(`slice ${x.text} [${ranges}]`, { ...x, shape }, [x]);
  }

  /** Leading axes: the lanes first, then those that ONNX's product broadcasts. In 32 bits: a GPU may otherwise take 19. */
  private product(left: string, { x, y, output }: { x: Value; y: Value; output: Omit<Value, 'text'> }): Value {
    const [rows] = x.shape.slice(-2);
    if (this.ones.has(left) && rows === 1) {
      const sum = this.reduced('add', y, { axes: [y.shape.length - 2], from: 0 });
      return this.reshaped(sum, output.shape);
    }
    const isPlain = !y.isWide && y.shape.length === 2;
    const lead = output.shape.slice(0, -2);
    const inner = output.isWide ? lead.slice(1) : lead;
    const led = (value: Value) => this.broadcast(value, [...inner, ...value.shape.slice(-2)], output.isWide);
    const [a, b] = isPlain ? [x, y] : [led(x), led(y)];
    const batches = isPlain ? [] : lead.map((_, axis) => axis);
    const batching = batches.length === 0 ? '' : `batching_dims = [${batches}] x [${batches}], `;
    const contracting = `contracting_dims = [${a.shape.length - 1}] x [${b.shape.length - 2}]`;
    const how = `${batching}${contracting}, precision = [HIGHEST, HIGHEST]`;
    return this.line(`dot_general ${a.text}, ${b.text}, ${how}`, output, [a, b]);
  }

  private gathered(
    table: Value,
    places: Value,
    { axis, output }: { axis: number; output: Omit<Value, 'text'> },
  ): Value {
    // Rows of a shared table are gathered from where they are; of its columns, each lane has a copy.
    const x = axis === 0 ? table : this.broadcast(table, innerOf(table), output.isWide);
    const [from, isPaired] = [axis + Number(x.isWide), x.isWide && places.isWide];
    // Axes of the result that come from x: all but those of the places, which stand at the axis.
    const at = places.isWide && !x.isWide ? 0 : from;
    const ranks = places.shape.length - Number(isPaired);
    const offsets = output.shape
      .map((_, dimension) => dimension)
      .filter((dimension) => !(isPaired && dimension === 0) && (dimension < at || dimension >= at + ranks));
    const pairs = isPaired ? ', operand_batching_dims = [0], start_indices_batching_dims = [0]' : '';
    const numbers = `offset_dims = [${offsets}], collapsed_slice_dims = [${from}]${pairs}, start_index_map = [${from}], index_vector_dim = ${places.shape.length}`;
    const sizes = x.shape.map((length, dimension) =>
      dimension === from || (isPaired && dimension === 0) ? 1 : length,
    );
    const text = `"stablehlo.gather"(${x.text}, ${places.text}) <{dimension_numbers = #stablehlo.gather<${numbers}>, slice_sizes = array<i64: ${sizes.join(', ')}>}>`;
    return this.line(text, output, [x, places]);
  }

  private scattered(operands: readonly Value[], output: Omit<Value, 'text'>): Value {
    const { isWide } = output;
    const all = operands.map((operand) => this.broadcast(operand, innerOf(operand), isWide));
    const [onto, places, updates] = all;
    const depth = places.shape.length - 1;
    const window = updates.shape.map((_, axis) => axis).slice(depth);
    const inserted = Array.from({ length: places.shape[depth] }, (_, axis) => axis + Number(isWide));
    const numbers = [
      ...(window.length > 0 ? [`update_window_dims = [${window}]`] : []),
      `inserted_window_dims = [${inserted}]`,
      ...(isWide ? ['input_batching_dims = [0]', 'scatter_indices_batching_dims = [0]'] : []),
      `scatter_dims_to_operand_dims = [${inserted}]`,
      `index_vector_dim = ${depth}`,
    ].join(', ');
    const names = all.map(({ text }) => text).join(', ');
    const text = `"stablehlo.scatter"(${names}) <{scatter_dimension_numbers = #stablehlo.scatter<${numbers}>}> (${adding(onto.kind)})`;
    return this.line(text, output, all);
  }
}

/** The shape without the leading axis. */
function innerOf({ shape, isWide }: Value): readonly number[] {
  return isWide ? shape.slice(1) : shape;
}

function isArithmetic(type: string): type is Arithmetic {
  return type in arithmetic;
}

/** The region of an operation that sums. */
function adding(kind: Kind): string {
  const type = typeOf({ shape: [], kind });
  return `{ ^bb0(%a: ${type}, %b: ${type}): %sum = stablehlo.add %a, %b : ${type} stablehlo.return %sum : ${type} }`;
}
