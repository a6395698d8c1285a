import * as tf from '@tensorflow/tfjs-core';
import type { OnnxBackend } from './backend.ts';
import { filled, like, ofIntermediate, register, type Single } from './register-kernel.ts';

/** Kernels that move numbers about. */
export function registerShapes(): void {
  register<Single>('Identity', ({ inputs: { x }, backend }) => backend.shared(x));
  register<Single, { shape: number[] }>('Reshape', ({ inputs: { x }, attrs, backend }) =>
    reshaped(backend, x, tf.util.inferFromImplicitShape(attrs.shape, tf.util.sizeFromShape(x.shape))),
  );
  register<{ input: tf.TensorInfo }, { dim: number }>(
    'ExpandDims',
    ({ inputs: { input }, attrs: { dim }, backend }) => {
      const shape = [...input.shape];
      shape.splice(dim < 0 ? shape.length + dim + 1 : dim, 0, 1);
      return reshaped(backend, input, shape);
    },
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
  register<Single, { reps: number[] }>('Tile', ({ inputs: { x }, attrs: { reps }, backend }) =>
    backend.append({ type: 'Tile', repeats: reps }, [x], {
      ...like(x),
      shape: x.shape.map((length, axis) => length * reps[axis]),
    }),
  );
  register<Single, { paddings: [number, number][]; constantValue: number }>(
    'PadV2',
    ({ inputs: { x }, attrs, backend }) => {
      const { paddings, constantValue } = attrs;
      const shape = x.shape.map((length, axis) => length + paddings[axis][0] + paddings[axis][1]);
      const [before, after] = [paddings.map(([own]) => own), paddings.map(([, own]) => own)];
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

function reshaped(backend: OnnxBackend, x: tf.TensorInfo, shape: number[]): tf.TensorInfo {
  if (tf.util.arraysEqual(x.shape, shape)) return backend.shared(x);
  return backend.append({ type: 'Reshape' }, [x], { ...like(x), shape });
}

export function transposed(backend: OnnxBackend, x: tf.TensorInfo, perm: readonly number[]): tf.TensorInfo {
  const shape = perm.map((axis) => x.shape[axis]);
  return backend.append({ type: 'Transpose', perm }, [x], { ...like(x), shape });
}

function sliced(backend: OnnxBackend, x: tf.TensorInfo, { begin, size }: { begin: number[]; size: number[] }) {
  const end = begin.map((start, axis) => start + size[axis]);
  return backend.append({ type: 'Slice', begin, end }, [x], { ...like(x), shape: size });
}
