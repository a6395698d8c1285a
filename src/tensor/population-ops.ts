import * as tf from '@tensorflow/tfjs-core';

/*
 * The few operations that Earshot's networks are made of. Every tensor is [members, rows, columns]: the first axis is
 * the population, and a single run is a population of one. The caller disposes what these functions return.
 */

/** Whether the current backend computes in memory of its own, so that what is read often belongs there. */
export function isOnDevice(): boolean {
  return ['tensorflow', 'webgpu'].includes(tf.getBackend());
}

/** One number for each member, shaped [members, 1, 1] so that it broadcasts over the member's rows and columns. */
export function perMember(values: readonly number[]): tf.Tensor3D {
  return tf.tensor3d(Float32Array.from(values), [values.length, 1, 1]);
}

/** One array a member, all the same length, as a column: [members, length, 1]. */
export function columnOf(values: readonly Float32Array[]): tf.Tensor3D {
  const length = values[0].length;
  const all = new Float32Array(values.length * length);
  for (const [member, own] of values.entries()) all.set(own, member * length);
  return tf.tensor3d(all, [values.length, length, 1]);
}

/**
 * [members, m, k] · [members, k, n] → [members, m, n], with either factor transposed first where asked. The wasm backend
 * multiplies batched operands about twenty times slower than plain matrices, and transposed ones ten times, so there the
 * members are multiplied one by one, and transposed beforehand.
 */
export function matMul(
  left: tf.Tensor3D,
  right: tf.Tensor3D,
  { transposeLeft = false, transposeRight = false }: { transposeLeft?: boolean; transposeRight?: boolean } = {},
): tf.Tensor3D {
  if (tf.getBackend() !== 'wasm') return tf.matMul(left, right, transposeLeft, transposeRight);
  return tf.tidy(() => {
    const [first, second] = [transposeLeft ? transpose(left) : left, transposeRight ? transpose(right) : right];
    const [members, m] = first.shape;
    const products = Array.from({ length: members }, (_, member) => {
      const product = tf.matMul(memberMatrix(first, member), memberMatrix(second, member));
      return tf.reshape<tf.Rank.R3>(product, [1, m, second.shape[2]]);
    });
    return members === 1 ? products[0] : tf.concat(products, 0);
  });
}

/** [members, rows, columns] → [members, columns, rows]. */
export function transpose(x: tf.Tensor3D): tf.Tensor3D {
  const [members, rows, columns] = x.shape;
  if (members > 1) return tf.transpose(x, [0, 2, 1]);
  return tf.tidy(() => tf.reshape(tf.transpose(memberMatrix(x, 0)), [1, columns, rows]));
}

function memberMatrix(x: tf.Tensor3D, member: number): tf.Tensor2D {
  const [members, rows, columns] = x.shape;
  return tf.reshape(members === 1 ? x : tf.slice(x, [member, 0, 0], [1, rows, columns]), [rows, columns]);
}

/** tanh x, on wasm as 2σ(2x) − 1: that backend has a fast sigmoid and a slow tanh. */
export function tanh(x: tf.Tensor3D): tf.Tensor3D {
  if (isOnDevice()) return tf.tanh(x);
  return tf.tidy(() => tf.sub(tf.mul(tf.sigmoid(tf.mul(x, 2)), 2), 1));
}

/** d tanh x / dx where `y` = tanh x. */
export function tanhDerivative(y: tf.Tensor3D): tf.Tensor3D {
  return tf.tidy(() => tf.sub(1, tf.square(y)));
}

/** Sum over the rows of each member: [members, rows, columns] → [members, 1, columns]. */
export function sumRows(x: tf.Tensor3D): tf.Tensor3D {
  return tf.sum(x, 1, true);
}

/** Rows `start` to `start + count − 1` of every member: [members, count, columns]. */
export function sliceRows(x: tf.Tensor3D, start: number, count: number): tf.Tensor3D {
  return tf.slice(x, [0, start, 0], [x.shape[0], count, x.shape[2]]);
}
