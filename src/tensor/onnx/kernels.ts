import * as tf from '@tensorflow/tfjs-core';
import type { Arithmetic, Comparison, Elementwise, Reduction } from '../graph.ts';
import { kindOf, type OnnxBackend } from './backend.ts';
import { filled, like, ofIntermediate, register, type Single } from './register-kernel.ts';
import { registerShapes, transposed } from './shape-kernels.ts';

/*
 * tfjs' kernels as nodes of ONNX graphs, as many as Earshot's networks, their gradients and their tests use. An
 * operation that is not here is an error of tfjs that names the kernel.
 */

type Pair = Record<'a' | 'b', tf.TensorInfo>;
type Axes = number | number[] | null;

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
  for (const [kernel, type] of Object.entries(functions))
    register<Single>(kernel, ({ inputs: { x }, backend }) => backend.append({ type }, [x], like(x)));
  for (const [kernel, type] of Object.entries(reductions))
    register<Single, { axis?: Axes; reductionIndices?: Axes; keepDims: boolean }>(
      kernel,
      ({ inputs: { x }, attrs, backend }) => {
        // The name of the axes is another for the largest number.
        const axis = attrs.axis ?? attrs.reductionIndices ?? null;
        return reduced(x, { axis, keepDims: attrs.keepDims, type, backend });
      },
    );
  for (const type of ['Softmax', 'LogSoftmax'] as const)
    register<{ logits: tf.TensorInfo }>(type, ({ inputs: { logits }, backend }) =>
      backend.append({ type }, [logits], like(logits)),
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
      (sum, own) => ofIntermediate(backend, sum, () => backend.append({ type: 'Add' }, [sum, own], like(first))),
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
  register<{ condition: tf.TensorInfo; t: tf.TensorInfo; e: tf.TensorInfo }>('Select', ({ inputs, backend }) =>
    backend.append({ type: 'Where' }, [inputs.condition, inputs.t, inputs.e], like(inputs.t)),
  );
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
  Pow: 'Pow',
};

const comparisons: Readonly<Record<string, Comparison | Arithmetic>> = {
  Equal: 'Equal',
  Less: 'Less',
  LessEqual: 'LessOrEqual',
  Greater: 'Greater',
  GreaterEqual: 'GreaterOrEqual',
  LogicalAnd: 'And',
  LogicalOr: 'Or',
};

const functions: Readonly<Record<string, Elementwise>> = {
  Abs: 'Abs',
  Exp: 'Exp',
  Log: 'Log',
  LogicalNot: 'Not',
  Neg: 'Neg',
  Relu: 'Relu',
  Round: 'Round',
  Sigmoid: 'Sigmoid',
  Sign: 'Sign',
  Softplus: 'Softplus',
  Sqrt: 'Sqrt',
  Tanh: 'Tanh',
};

const reductions: Readonly<Record<string, Reduction>> = {
  Sum: 'ReduceSum',
  Mean: 'ReduceMean',
  Max: 'ReduceMax',
  Min: 'ReduceMin',
};

function registerConstants(): void {
  register<Single>('ZerosLike', ({ inputs: { x }, backend }) => filled(backend, x, 0));
  register<Single>('OnesLike', ({ inputs: { x }, backend }) => filled(backend, x, 1));
  register<object, { shape: number[]; value: number; dtype: tf.DataType }>('Fill', ({ attrs, backend }) =>
    filled(backend, attrs, attrs.value),
  );
}

function reduced(
  x: tf.TensorInfo,
  options: { axis: Axes; keepDims: boolean; type: Reduction; backend: OnnxBackend },
): tf.TensorInfo {
  const { type, keepDims, backend } = options;
  const axes = tf.util.parseAxisParam(options.axis ?? x.shape.map((_, axis) => axis), x.shape);
  const shape = x.shape.flatMap((length, axis) => (axes.includes(axis) ? (keepDims ? [1] : []) : [length]));
  if (type === 'ReduceSum' && keepDims && x.dtype === 'float32' && isRowAxis(axes, x.shape))
    return summedRows(backend, x, shape);
  return backend.append({ type, axes, keepDims }, [x], { ...like(x), shape });
}

/** Whether rows are reduced, all columns at once. */
function isRowAxis(axes: readonly number[], shape: readonly number[]): boolean {
  return axes.length === 1 && axes[0] === shape.length - 2;
}

/**
 * As a product with ones, which ONNX Runtime computes several times faster than its sum over an axis in the middle. Of one column
 * the sum would round otherwise in a batch than alone.
 */
function summedRows(backend: OnnxBackend, x: tf.TensorInfo, shape: number[]): tf.TensorInfo {
  const ones = filled(backend, { shape: [1, x.shape[x.shape.length - 2]], dtype: 'float32' }, 1);
  return ofIntermediate(backend, ones, () => backend.append({ type: 'MatMul' }, [ones, x], { ...like(x), shape }));
}

/** With its last two axes swapped. The runtime makes one node of this and the product behind it. */
function swapped(backend: OnnxBackend, x: tf.TensorInfo): tf.TensorInfo {
  const axes = x.shape.map((_, axis) => axis);
  return transposed(backend, x, [...axes.slice(0, -2), axes.length - 1, axes.length - 2]);
}
