import * as tf from '@tensorflow/tfjs-core';
import type { Arithmetic, Comparison, Elementwise, Kind } from './graph.ts';
import { type GraphBackend, kindOf } from './graph-backend.ts';

/*
 * tfjs' kernels as nodes of graphs, as many as Earshot's networks, their gradients and their tests use. An
 * operation that is not here is an error of tfjs that names the kernel.
 */

type Pair = Record<'a' | 'b', tf.TensorInfo>;

/** Registers the kernels with tfjs; once in a process. */
export function registerKernels(): void {
  const broadcast = ({ a, b }: Pair) => tf.broadcast_util.assertAndGetBroadcastShape(a.shape, b.shape);
  for (const [kernel, type] of Object.entries(arithmetic))
    register<Pair>(kernel, ({ inputs, backend }) =>
      backend.append({ type }, [inputs.a, inputs.b], { shape: broadcast(inputs), kind: kindOf(inputs.a.dtype) }),
    );
  for (const [kernel, type] of Object.entries(comparisons))
    register<Pair>(kernel, ({ inputs, backend }) =>
      backend.append({ type }, [inputs.a, inputs.b], { shape: broadcast(inputs), kind: 'bool' }),
    );
  for (const type of functions)
    register<Single>(type, ({ inputs: { x }, backend }) => backend.append({ type }, [x], like(x)));
  register<Single, { axis: number | number[] | null; keepDims: boolean }>(
    'Sum',
    ({ inputs: { x }, attrs: { axis, keepDims }, backend }) => summed(x, { axis, keepDims, backend }),
  );
  register<{ logits: tf.TensorInfo }>('LogSoftmax', ({ inputs: { logits }, backend }) =>
    backend.append({ type: 'LogSoftmax' }, [logits], like(logits)),
  );
  register<Single, { axis: number; exclusive: boolean; reverse: boolean }>(
    'Cumsum',
    ({ inputs: { x }, attrs: { axis, exclusive, reverse }, backend }) =>
      backend.append({ type: 'CumSum', axis, exclusive, reverse }, [x], like(x)),
  );
  registerShapes();
  registerConstants();

  register<Single>('Square', ({ inputs: { x }, backend }) => backend.append({ type: 'Mul' }, [x, x], like(x)));
  register<Pair>('SquaredDifference', ({ inputs, backend }) => {
    const shape = broadcast(inputs);
    const difference = backend.append({ type: 'Sub' }, [inputs.a, inputs.b], { shape, kind: 'float32' });
    return ofIntermediate(backend, difference, () =>
      backend.append({ type: 'Mul' }, [difference, difference], { shape, kind: 'float32' }),
    );
  });
  register<Record<string, tf.TensorInfo>>('AddN', ({ inputs, backend }) => {
    const [first, ...others] = Object.values(inputs);
    return others.reduce(
      (sum, term) => ofIntermediate(backend, sum, () => backend.append({ type: 'Add' }, [sum, term], like(first))),
      backend.shared(first),
    );
  });
  register<Pair, { transposeA: boolean; transposeB: boolean }>('BatchMatMul', ({ inputs, attrs, backend }) => {
    const { a, b } = inputs;
    const left = attrs.transposeA ? swapped(backend, a) : backend.shared(a);
    const right = attrs.transposeB ? swapped(backend, b) : backend.shared(b);
    const batches = tf.broadcast_util.assertAndGetBroadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
    const shape = [...batches, ...left.shape.slice(-2, -1), ...right.shape.slice(-1)];
    return ofIntermediate(backend, left, () =>
      ofIntermediate(backend, right, () =>
        backend.append({ type: 'MatMul' }, [left, right], { shape, kind: 'float32' }),
      ),
    );
  });
  register<Single, { dtype: tf.DataType }>('Cast', ({ inputs: { x }, attrs, backend }) => {
    if (x.dtype === attrs.dtype) return backend.shared(x);
    return backend.append({ type: 'Cast' }, [x], { shape: x.shape, kind: kindOf(attrs.dtype) });
  });
}

const arithmetic: Readonly<Record<string, Arithmetic>> = {
  Add: 'Add',
  Sub: 'Sub',
  Multiply: 'Mul',
  RealDiv: 'Div',
  Minimum: 'Min',
  Maximum: 'Max',
};

const comparisons: Readonly<Record<string, Comparison>> = {
  LessEqual: 'LessOrEqual',
  GreaterEqual: 'GreaterOrEqual',
};

const functions: readonly Elementwise[] = ['Exp', 'Neg', 'Sigmoid', 'Softplus', 'Sqrt', 'Tanh'];

function registerConstants(): void {
  register<Single>('ZerosLike', ({ inputs: { x }, backend }) => filled(backend, x, 0));
  register<Single>('OnesLike', ({ inputs: { x }, backend }) => filled(backend, x, 1));
  register<object, { shape: number[]; value: number; dtype: tf.DataType }>('Fill', ({ attrs, backend }) =>
    filled(backend, attrs, attrs.value),
  );
}

function summed(
  x: tf.TensorInfo,
  options: { axis: number | number[] | null; keepDims: boolean; backend: GraphBackend },
): tf.TensorInfo {
  const { keepDims, backend } = options;
  const axes = tf.util.parseAxisParam(options.axis ?? x.shape.map((_, axis) => axis), x.shape);
  const shape = x.shape.flatMap((length, axis) => (axes.includes(axis) ? (keepDims ? [1] : []) : [length]));
  if (keepDims && x.dtype === 'float32' && isRowAxis(axes, x.shape)) return summedRows(backend, x, shape);
  return backend.append({ type: 'ReduceSum', axes, keepDims }, [x], { ...like(x), shape });
}

/** Whether rows are reduced, all columns at once. */
function isRowAxis(axes: readonly number[], shape: readonly number[]): boolean {
  return axes.length === 1 && axes[0] === shape.length - 2;
}

/**
 * As a product with ones, which ONNX Runtime computes several times faster than its sum over an axis in the middle. Of one column
 * the sum would round otherwise in a batch than alone.
 */
function summedRows(backend: GraphBackend, x: tf.TensorInfo, shape: number[]): tf.TensorInfo {
  const ones = filled(backend, { shape: [1, x.shape[x.shape.length - 2]], dtype: 'float32' }, 1);
  return ofIntermediate(backend, ones, () => backend.append({ type: 'MatMul' }, [ones, x], { ...like(x), shape }));
}

/** With its last two axes swapped. The runtime makes one node of this and the product behind it. */
function swapped(backend: GraphBackend, x: tf.TensorInfo): tf.TensorInfo {
  const axes = x.shape.map((_, axis) => axis);
  return transposed(backend, x, [...axes.slice(0, -2), axes.length - 1, axes.length - 2]);
}

/** Kernels that move numbers about. */
function registerShapes(): void {
  register<Single>('Identity', ({ inputs: { x }, backend }) => backend.shared(x));
  register<Single, { shape: number[] }>('Reshape', ({ inputs: { x }, attrs, backend }) =>
    reshaped(backend, x, tf.util.inferFromImplicitShape(attrs.shape, tf.util.sizeFromShape(x.shape))),
  );
  register<Single, { perm: number[] }>('Transpose', ({ inputs: { x }, attrs: { perm }, backend }) =>
    transposed(backend, x, perm),
  );
  register<Single, { begin: number | number[]; size: number | number[] }>(
    'Slice',
    ({ inputs: { x }, attrs, backend }) => {
      const [begin, size] = tf.slice_util.parseSliceParams(x, attrs.begin, attrs.size);
      return sliced(backend, x, { begin, size });
    },
  );
  register<Single, { numOrSizeSplits: number | number[]; axis: number }>(
    'SplitV',
    ({ inputs: { x }, attrs, backend }) => {
      const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0];
      const lengths = tf.backend_util.prepareSplitSize(x, attrs.numOrSizeSplits, axis);
      const shapes = lengths.map((length) => x.shape.with(axis, length));
      const outputs = shapes.map((shape) => ({ ...like(x), shape }));
      return backend.appendSeveral({ type: 'Split', axis, lengths }, [x], outputs);
    },
  );
  register<Record<string, tf.TensorInfo>, { axis: number }>('Concat', ({ inputs, attrs, backend }) => {
    const all = Object.values(inputs);
    const [axis] = tf.util.parseAxisParam(attrs.axis, all[0].shape);
    const shapes = all.map((input) => input.shape);
    const shape = tf.backend_util.computeOutShape(shapes, axis);
    return backend.append({ type: 'Concat', axis }, all, { ...like(all[0]), shape });
  });
  register<Single, { paddings: [number, number][]; constantValue: number }>(
    'PadV2',
    ({ inputs: { x }, attrs, backend }) => {
      const { paddings, constantValue } = attrs;
      const shape = x.shape.map((length, axis) => length + paddings[axis][0] + paddings[axis][1]);
      const [before, after] = [paddings.map(([before]) => before), paddings.map(([, after]) => after)];
      return backend.append({ type: 'Pad', before, after, value: constantValue }, [x], { ...like(x), shape });
    },
  );
  register<Single & { indices: tf.TensorInfo }, { axis: number }>(
    'GatherV2',
    ({ inputs, attrs: { axis }, backend }) => {
      const { x, indices } = inputs;
      const shape = [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
      return backend.append({ type: 'Gather', axis }, [x, indices], { ...like(x), shape });
    },
  );
  register<{ indices: tf.TensorInfo; updates: tf.TensorInfo }, { shape: number[] }>(
    'ScatterNd',
    ({ inputs: { indices, updates }, attrs: { shape }, backend }) => {
      const zeros = filled(backend, { shape, dtype: updates.dtype }, 0);
      return ofIntermediate(backend, zeros, () =>
        backend.append({ type: 'ScatterAdd' }, [zeros, indices, updates], { ...like(updates), shape }),
      );
    },
  );
}

function reshaped(backend: GraphBackend, x: tf.TensorInfo, shape: number[]): tf.TensorInfo {
  if (tf.util.arraysEqual(x.shape, shape)) return backend.shared(x);
  return backend.append({ type: 'Reshape' }, [x], { ...like(x), shape });
}

function transposed(backend: GraphBackend, x: tf.TensorInfo, perm: readonly number[]): tf.TensorInfo {
  const shape = perm.map((axis) => x.shape[axis]);
  return backend.append({ type: 'Transpose', perm }, [x], { ...like(x), shape });
}

function sliced(backend: GraphBackend, x: tf.TensorInfo, { begin, size }: { begin: number[]; size: number[] }) {
  const end = begin.map((start, axis) => start + size[axis]);
  return backend.append({ type: 'Slice', begin, end }, [x], { ...like(x), shape: size });
}

/** The arguments of a kernel. tfjs does not check them, so each kernel names those that it reads. */
interface Call<Inputs, Attributes> {
  readonly inputs: Inputs;
  readonly attrs: Attributes;
  readonly backend: GraphBackend;
}
type Single = Record<'x', tf.TensorInfo>;

/** Registers a kernel of this backend with tfjs. */
function register<Inputs extends object, Attributes = unknown>(
  kernelName: string,
  kernel: (call: Call<Inputs, Attributes>) => tf.TensorInfo | tf.TensorInfo[],
): void {
  tf.registerKernel({
    kernelName,
    backendName: 'graph',
    // tfjs hands every kernel untyped records; what is in them is up to the operation that calls it.
    kernelFunc: ({ inputs, attrs, backend }) =>
      kernel({ inputs: inputs as Inputs, attrs: attrs as Attributes, backend: backend as GraphBackend }),
  });
}

/** Shape and type of a result that is like a tensor. */
function like({ shape, dtype }: tf.TensorInfo): { shape: number[]; kind: Kind } {
  return { shape, kind: kindOf(dtype) };
}

/** A result that was made from something that nothing else needs. */
function ofIntermediate(backend: GraphBackend, input: tf.TensorInfo, make: () => tf.TensorInfo): tf.TensorInfo {
  const result = make();
  backend.disposeData(input.dataId);
  return result;
}

/** A constant of one number. */
function filled(
  backend: GraphBackend,
  { shape, dtype }: Pick<tf.TensorInfo, 'shape' | 'dtype'>,
  value: number,
): tf.TensorInfo {
  const kind = kindOf(dtype ?? 'float32');
  const array = tf.util.makeZerosTypedArray(tf.util.sizeFromShape(shape), kind).fill(value);
  return backend.tensorOf(backend.made(array, { shape, kind }));
}
