import * as tf from '@tensorflow/tfjs-core';
import type { Kind } from '../graph.ts';
import { kindOf, OnnxBackend } from './backend.ts';

/** What a kernel is called with. tfjs checks nothing of it, so each kernel says what it reads. */
interface Call<Inputs, Attributes> {
  readonly inputs: Inputs;
  readonly attrs: Attributes;
  readonly backend: OnnxBackend;
}
export type Single = Record<'x', tf.TensorInfo>;

/** Registers a kernel of this backend with tfjs. */
export function register<Inputs extends object, Attributes = unknown>(
  kernelName: string,
  kernel: (call: Call<Inputs, Attributes>) => tf.TensorInfo | tf.TensorInfo[],
): void {
  tf.registerKernel({
    kernelName,
    backendName: 'onnx',
    // tfjs hands every kernel untyped records; what is in them is up to the operation that calls it.
    kernelFunc: ({ inputs, attrs, backend }) => {
      if (!(backend instanceof OnnxBackend)) throw new Error(`${kernelName} was called for another backend`);
      return kernel({ inputs: inputs as Inputs, attrs: attrs as Attributes, backend });
    },
  });
}

/** What a result shares with a tensor: shape and type. */
export function like({ shape, dtype }: tf.TensorInfo): { shape: number[]; kind: Kind } {
  return { shape, kind: kindOf(dtype) };
}

/** A result that was made from something that nothing else needs. */
export function ofIntermediate(backend: OnnxBackend, input: tf.TensorInfo, make: () => tf.TensorInfo): tf.TensorInfo {
  const result = make();
  backend.disposeData(input.dataId);
  return result;
}

/** A constant of one number. */
export function filled(
  backend: OnnxBackend,
  { shape, dtype }: Pick<tf.TensorInfo, 'shape' | 'dtype'>,
  value: number,
): tf.TensorInfo {
  const kind = kindOf(dtype ?? 'float32');
  const array = tf.util.makeZerosTypedArray(tf.util.sizeFromShape(shape), kind).fill(value);
  return backend.tensorOf(backend.made(array, { shape, kind }));
}
