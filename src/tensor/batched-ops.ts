import * as tf from '@tensorflow/tfjs-core';

/*
 * The few operations that Earshot's networks are made of. Every tensor is [members, rows, columns]: the first axis is
 * the batched runs, and a single run is a batch of one. The caller disposes what these functions return.
 */

/** Tensors by name, all [members, rows, columns]. */
export type Tensors<Name extends string = string> = Record<Name, tf.Tensor3D>;

/** The names of a record of tensors, in the order of its keys. */
export function namesOf<Name extends string>(tensors: Tensors<Name>): Name[] {
  return Object.keys(tensors) as Name[];
}

/** `f` of every tensor, by the same names. The inputs are left alone; the results belong to the caller. */
export function mapTensors<Name extends string>(
  tensors: Tensors<Name>,
  f: (tensor: tf.Tensor3D, name: Name) => tf.Tensor3D,
): Tensors<Name> {
  return Object.fromEntries(namesOf(tensors).map((name) => [name, f(tensors[name], name)])) as Tensors<Name>;
}

/** Whether the current backend gathers rows of a table fast, so that the table belongs to it. */
export function isOnDevice(): boolean {
  return ['tensorflow', 'onnx'].includes(tf.getBackend());
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

/** Which factors of a product are transposed first. */
interface ProductOptions {
  readonly transposeLeft?: boolean;
  readonly transposeRight?: boolean;
}

/**
 * [members, m, k] · [members, k, n] → [members, m, n], with either factor transposed first where asked.
 * @param options.leftIsData nobody asks for the gradient of the left factor, the larger one of a first layer
 */
export function matMul(
  left: tf.Tensor3D,
  right: tf.Tensor3D,
  options: ProductOptions & { leftIsData?: boolean } = {},
): tf.Tensor3D {
  const { transposeLeft = false, transposeRight = false, leftIsData = false } = options;
  return withGradient(leftIsData ? [right] : [left, right], {
    saved: [left, right],
    value: () => product(left, right, options),
    gradients: (dy, [left, right]) => {
      const ofRight = () =>
        transposeRight
          ? product(dy, left, { transposeLeft: true, transposeRight: transposeLeft })
          : product(left, dy, { transposeLeft: !transposeLeft });
      if (leftIsData) return [ofRight()];
      const ofLeft = transposeLeft
        ? product(right, dy, { transposeLeft: transposeRight, transposeRight: true })
        : product(dy, right, { transposeRight: !transposeRight });
      return [ofLeft, ofRight()];
    },
  });
}

/**
 * ‖Wv‖² of each row v, where W are the matrices one above the other: [members, rows, n] and [members, k, n] each → [members, rows, 1].
 * It is vᵀGv with G = WᵀW, so that nothing of a length of k is computed for a row.
 */
export function squaredNormsOfImages(v: tf.Tensor3D, matrices: readonly tf.Tensor3D[]): tf.Tensor3D {
  const g = tf.addN(matrices.map((own) => product(own, own, { transposeLeft: true })));
  const vg = product(v, g);
  return withGradient([v, ...matrices], {
    saved: [v, vg, ...matrices],
    value: () => tf.sum(tf.mul(v, vg), 2, true),
    gradients: (dy, [v, vg, ...saved]) => {
      const twice = tf.mul<tf.Tensor3D>(dy, 2);
      const ofG = product(v, tf.mul(v, twice), { transposeLeft: true });
      return [tf.mul(vg, twice), ...matrices.map((_, place) => product(saved[place], ofG))];
    },
  });
}

/**
 * The wasm backend multiplies batched operands about twenty times slower than plain matrices, and transposed ones ten times, so
 * there the members are multiplied one by one, and transposed beforehand.
 */
function product(
  left: tf.Tensor3D,
  right: tf.Tensor3D,
  { transposeLeft = false, transposeRight = false }: ProductOptions = {},
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
  return withGradient([x], { saved: [], value: () => swapped(x), gradients: (dy) => [swapped(dy)] });
}

function swapped(x: tf.Tensor3D): tf.Tensor3D {
  const [members, rows, columns] = x.shape;
  if (members > 1) return tf.transpose(x, [0, 2, 1]);
  return tf.tidy(() => tf.reshape(tf.transpose(memberMatrix(x, 0)), [1, columns, rows]));
}

function memberMatrix(x: tf.Tensor3D, member: number): tf.Tensor2D {
  const [members, rows, columns] = x.shape;
  return tf.reshape(members === 1 ? x : tf.slice(x, [member, 0, 0], [1, rows, columns]), [rows, columns]);
}

/**
 * Logarithm of the softmax over the columns. On onnx it is one node instead of six: the logarithm alone would round a row otherwise
 * in a batch than alone.
 */
export function logSoftmax(x: tf.Tensor3D): tf.Tensor3D {
  if (tf.getBackend() !== 'onnx') return tf.logSoftmax(x);
  return withGradient([x], {
    saved: [],
    value: () => tf.engine().runKernel('LogSoftmax', { logits: x }) as tf.Tensor3D,
    gradients: (dy, [y]) => [tf.sub(dy, tf.mul(tf.sum(dy, 2, true), tf.exp(y)))],
  });
}

/** tanh x, on wasm and cpu as 2σ(2x) − 1: wasm has a fast sigmoid and a slow tanh. */
export function tanh(x: tf.Tensor3D): tf.Tensor3D {
  const value = () => {
    if (isOnDevice()) return tf.tanh(x);
    return tf.tidy(() => tf.sub<tf.Tensor3D>(tf.mul(tf.sigmoid(tf.mul(x, 2)), 2), 1));
  };
  return withGradient([x], { saved: [], value, gradients: (dy, [y]) => [tf.mul(dy, tanhDerivative(y))] });
}

/** d tanh x / dx where `y` = tanh x. */
export function tanhDerivative(y: tf.Tensor3D): tf.Tensor3D {
  return withGradient([y], {
    saved: [y],
    value: () => tf.tidy(() => tf.sub(1, tf.square(y))),
    gradients: (dy, [y]) => [tf.mul(dy, tf.mul(y, -2))],
  });
}

/** Sum over the rows of each member: [members, rows, columns] → [members, 1, columns]. */
export function sumRows(x: tf.Tensor3D): tf.Tensor3D {
  return tf.sum(x, 1, true);
}

/**
 * The sum of all squares of each member, [members, 1, 1]. On onnx it is a product: how a sum rounds depends there on where in memory a
 * member's numbers start, so in a batch it would round otherwise than alone.
 */
export function sumOfSquares(x: tf.Tensor3D): tf.Tensor3D {
  if (tf.getBackend() !== 'onnx') return tf.sum<tf.Tensor3D>(tf.square(x), [1, 2], true);
  const row = tf.reshape<tf.Rank.R3>(x, [x.shape[0], 1, -1]);
  return product(row, row, { transposeRight: true });
}

/** Rows `start` to `start + count − 1` of every member: [members, count, columns]. */
export function sliceRows(x: tf.Tensor3D, start: number, count: number): tf.Tensor3D {
  return tf.slice(x, [0, start, 0], [x.shape[0], count, x.shape[2]]);
}

/**
 * Rows by their numbers, each any number of times: [members, rows, columns] → [members, taken, columns]. The gradient of a row is the
 * sum of those of its copies.
 * @param numbers [members · taken], counted over the rows of all members, one member after the other
 */
export function gatherRows(x: tf.Tensor3D, numbers: tf.Tensor1D): tf.Tensor3D {
  const [members, rows, columns] = x.shape;
  const [count] = numbers.shape;
  return withGradient([x], {
    saved: [numbers],
    value: () =>
      tf.reshape(tf.gather(tf.reshape(x, [members * rows, columns]), numbers), [members, count / members, columns]),
    gradients: (dy, [numbers]) => {
      const ofCopies = tf.reshape(dy, [count, columns]);
      const places = tf.reshape<tf.Rank.R2>(numbers, [count, 1]);
      return [tf.reshape(tf.scatterND(places, ofCopies, [members * rows, columns]), [members, rows, columns])];
    },
  });
}

/** Parameters of a perceptron with two hidden tanh layers, above the product of its input with the first layer. */
export type UpperName = 'w2' | 'b2' | 'w3' | 'b3';
/** All parameters: weights are [members, in, out] and biases [members, 1, out]. */
export type MlpName = 'w1' | 'b1' | UpperName;

/**
 * A layer of a perceptron, x·w + b or its tanh: one operation with one gradient, which spares wasm half of the kernels.
 * @param options.inputIsData nobody asks for the gradient of x
 */
export function layer(
  x: tf.Tensor3D,
  { weights, bias }: { weights: tf.Tensor3D; bias: tf.Tensor3D },
  { isTanh = false, inputIsData = false }: { isTanh?: boolean; inputIsData?: boolean } = {},
): tf.Tensor3D {
  return withGradient(inputIsData ? [weights, bias] : [weights, bias, x], {
    saved: [x, weights],
    value: () => {
      const sum = tf.add<tf.Tensor3D>(product(x, weights), bias);
      return isTanh ? tanh(sum) : sum;
    },
    gradients: (dy, [x, weights, y]) => {
      const ofSum = isTanh ? tf.mul<tf.Tensor3D>(dy, tanhDerivative(y)) : dy;
      const own = [product(x, ofSum, { transposeLeft: true }), sumRows(ofSum)];
      return inputIsData ? own : [...own, product(ofSum, weights, { transposeRight: true })];
    },
  });
}

/**
 * The network of Ho & Ermon ("Generative Adversarial Imitation Learning", 2016) and of EARD above its first layer h₁, for the caller
 * knows how its input is composed: h₂ = tanh(h₁·w2 + b2), output = h₂·w3 + b3.
 * @returns tensors that the caller disposes
 */
export function upperForward({ w2, b2, w3, b3 }: Tensors<UpperName>, hidden1: tf.Tensor3D) {
  const hidden2 = layer(hidden1, { weights: w2, bias: b2 }, { isTanh: true });
  return { hidden2, output: layer(hidden2, { weights: w3, bias: b3 }) };
}

/**
 * An operation whose gradient is written out.
 * @param inputs those that a gradient is passed on to
 * @param options.saved what `gradients` gets beside the gradient of the value, with the value as the last
 */
export function withGradient(
  inputs: readonly tf.Tensor3D[],
  options: {
    saved: readonly tf.Tensor[];
    value: () => tf.Tensor3D;
    gradients: (dy: tf.Tensor3D, saved: tf.Tensor3D[]) => tf.Tensor3D[];
  },
): tf.Tensor3D {
  const { saved, value, gradients } = options;
  const operation = tf.customGrad<tf.Tensor3D>((...given) => {
    const result = value();
    const save = given[given.length - 1];
    if (typeof save === 'function') save([...saved, result]);
    return { value: result, gradFunc: (dy, kept) => gradients(dy as tf.Tensor3D, kept as tf.Tensor3D[]) };
  });
  return operation(...inputs);
}
