import * as tf from '@tensorflow/tfjs-core';

/*
 * The few operations that Earshot's networks are made of. Every tensor is a matrix, [rows, columns]. The caller disposes what these
 * functions return.
 */

/** Matrices by name. */
export type Tensors<Name extends string = string> = Record<Name, tf.Tensor2D>;

/** The names of a record of tensors, in the order of its keys. */
export function namesOf<Name extends string>(tensors: Tensors<Name>): Name[] {
  return Object.keys(tensors) as Name[];
}

/** Rows and columns of each matrix, in the order of the keys. */
export type Shapes<Name extends string = string> = Readonly<Record<Name, [number, number]>>;

/** Matrices in one row, one behind the other. */
export function packed(tensors: readonly tf.Tensor2D[]): tf.Tensor2D {
  return tf.concat(
    tensors.map((tensor) => tf.reshape<tf.Rank.R2>(tensor, [1, -1])),
    1,
  );
}

/** The matrices of a row. */
export function unpacked<Name extends string>(row: tf.Tensor2D, shapes: Shapes<Name>): Tensors<Name> {
  const all = Object.entries<[number, number]>(shapes);
  const lengths = all.map(([, [rows, columns]]) => rows * columns);
  const parts = tf.split<tf.Tensor2D>(row, lengths, 1);
  return Object.fromEntries(
    all.map(([name, shape], place) => [name, tf.reshape(parts[place], shape)]),
  ) as Tensors<Name>;
}

/** Whether operations become nodes of a graph. */
export function isInGraph(): boolean {
  return tf.getBackend() === 'graph';
}

/** Whether the current backend gathers rows of a table fast, so that the table belongs to it. */
export function isOnDevice(): boolean {
  return isInGraph() || tf.getBackend() === 'tensorflow';
}

/** A number as [1, 1]. */
export function single(value: number): tf.Tensor2D {
  return tf.tensor2d([value], [1, 1]);
}

/** Numbers below one another, [length, 1]. */
export function columnOf(values: Float32Array): tf.Tensor2D {
  return tf.tensor2d(values, [values.length, 1]);
}

/** Which factors of a product are transposed first. */
interface ProductOptions {
  readonly transposeLeft?: boolean;
  readonly transposeRight?: boolean;
}

/**
 * [m, k] · [k, n] → [m, n], with either factor transposed first where asked.
 * @param options.leftIsData nobody asks for the gradient of the left factor, the larger one of a first layer
 */
export function matMul(
  left: tf.Tensor2D,
  right: tf.Tensor2D,
  options: ProductOptions & { leftIsData?: boolean } = {},
): tf.Tensor2D {
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
 * ‖Wv‖ of each row v, where W are the matrices one above the other: [rows, n] and [k, n] each → [rows, 1]. Its square is vᵀGv with
 * G = WᵀW, so that nothing of a length of k is computed for a row; something is added to it, for the root has no slope at 0.
 */
export function normsOfImages(v: tf.Tensor2D, matrices: readonly tf.Tensor2D[]): tf.Tensor2D {
  const g = tf.addN(matrices.map((matrix) => product(matrix, matrix, { transposeLeft: true })));
  const vg = product(v, g);
  return withGradient([v, ...matrices], {
    saved: [v, vg, ...matrices],
    value: () => tf.sqrt(tf.add<tf.Tensor2D>(sumColumns(tf.mul(v, vg)), 1e-12)),
    gradients: (dy, [v, vg, ...saved]) => {
      const scale = tf.div<tf.Tensor2D>(dy, saved[matrices.length]);
      const ofG = product(v, tf.mul(v, scale), { transposeLeft: true });
      return [tf.mul(vg, scale), ...matrices.map((_, place) => product(saved[place], ofG))];
    },
  });
}

/** A product without a gradient. wasm multiplies transposed operands ten times slower, so there they are transposed beforehand. */
export function product(
  left: tf.Tensor2D,
  right: tf.Tensor2D,
  { transposeLeft = false, transposeRight = false }: ProductOptions = {},
): tf.Tensor2D {
  if (tf.getBackend() !== 'wasm') return tf.matMul(left, right, transposeLeft, transposeRight);
  return tf.tidy(() =>
    tf.matMul(transposeLeft ? tf.transpose(left) : left, transposeRight ? tf.transpose(right) : right),
  );
}

/** Logarithm of the softmax over the columns. In a graph it is one node instead of six. */
export function logSoftmax(x: tf.Tensor2D): tf.Tensor2D {
  if (!isInGraph()) return tf.logSoftmax(x);
  return withGradient([x], {
    saved: [],
    value: () => tf.engine().runKernel('LogSoftmax', { logits: x }) as tf.Tensor2D,
    gradients: (dy, [y]) => [tf.sub(dy, tf.mul(sumColumns(dy), tf.exp(y)))],
  });
}

/** tanh x, on wasm and cpu as 2σ(2x) − 1: wasm has a fast sigmoid and a slow tanh. */
export function tanh(x: tf.Tensor2D): tf.Tensor2D {
  const value = () => {
    if (isOnDevice()) return tf.tanh(x);
    return tf.tidy(() => tf.sub<tf.Tensor2D>(tf.mul(tf.sigmoid(tf.mul(x, 2)), 2), 1));
  };
  return withGradient([x], { saved: [], value, gradients: (dy, [y]) => [tf.mul(dy, tanhDerivative(y))] });
}

/** d tanh x / dx where `y` = tanh x. */
export function tanhDerivative(y: tf.Tensor2D): tf.Tensor2D {
  return withGradient([y], {
    saved: [y],
    value: () => tf.tidy(() => tf.sub(1, tf.square(y))),
    gradients: (dy, [y]) => [tf.mul(dy, tf.mul(y, -2))],
  });
}

/** Sum over the rows: [rows, columns] → [1, columns]. */
export function sumRows(x: tf.Tensor2D): tf.Tensor2D {
  return tf.sum(x, 0, true);
}

/** Sum over the columns: [rows, columns] → [rows, 1]. */
export function sumColumns(x: tf.Tensor2D): tf.Tensor2D {
  return tf.sum(x, 1, true);
}

/** Σ a b over the columns: [rows, columns] each → [rows, 1]. */
export function rowProducts(a: tf.Tensor2D, b: tf.Tensor2D): tf.Tensor2D {
  return withGradient([a, b], {
    saved: [a, b],
    value: () => sumColumns(tf.mul(a, b)),
    gradients: (dy, [a, b]) => [tf.mul(dy, b), tf.mul(dy, a)],
  });
}

/** Σ weight · x over the rows, [1, 1]; nobody asks for the gradient of the weights. */
export function weightedSum(x: tf.Tensor2D, weights: tf.Tensor2D): tf.Tensor2D {
  return withGradient([x], {
    saved: [weights],
    value: () => sumRows(tf.mul(x, weights)),
    gradients: (dy, [weights]) => [tf.mul(weights, dy)],
  });
}

/** Columns `start` to `start + count − 1`. */
export function sliceColumns(x: tf.Tensor2D, start: number, count: number): tf.Tensor2D {
  return tf.slice(x, [0, start], [x.shape[0], count]);
}

/**
 * Rows by their numbers, each any number of times: [rows, columns] → [numbers, columns]. The gradient of a row is the sum of those of
 * its copies.
 */
export function gatherRows(x: tf.Tensor2D, numbers: tf.Tensor1D): tf.Tensor2D {
  return withGradient([x], {
    saved: [numbers],
    value: () => tf.gather(x, numbers),
    gradients: (dy, [numbers]) => [tf.scatterND(tf.reshape(numbers, [-1, 1]), dy, x.shape)],
  });
}

/** Parameters of a perceptron with two hidden tanh layers, above the product of its input with the first layer. */
export type UpperName = 'w2' | 'b2' | 'w3' | 'b3';
/** All parameters: weights are [in, out] and biases [1, out]. */
export type MlpName = 'w1' | 'b1' | UpperName;

/**
 * A layer of a perceptron, x·w + b or its tanh: one operation with one gradient, which spares wasm half of the kernels.
 * @param options.inputIsData nobody asks for the gradient of x
 */
export function layer(
  x: tf.Tensor2D,
  { weights, bias }: { weights: tf.Tensor2D; bias: tf.Tensor2D },
  { isTanh = false, inputIsData = false }: { isTanh?: boolean; inputIsData?: boolean } = {},
): tf.Tensor2D {
  return withGradient(inputIsData ? [weights, bias] : [weights, bias, x], {
    saved: [x, weights],
    value: () => {
      const sum = tf.add<tf.Tensor2D>(product(x, weights), bias);
      return isTanh ? tanh(sum) : sum;
    },
    gradients: (dy, [x, weights, y]) => {
      const ofSum = isTanh ? tf.mul<tf.Tensor2D>(dy, tanhDerivative(y)) : dy;
      const sums = [product(x, ofSum, { transposeLeft: true }), sumRows(ofSum)];
      return inputIsData ? sums : [...sums, product(ofSum, weights, { transposeRight: true })];
    },
  });
}

/**
 * The network of Ho & Ermon ("Generative Adversarial Imitation Learning", 2016) and of EARD above its first layer h₁, for the caller
 * knows how its input is composed: h₂ = tanh(h₁·w2 + b2), output = h₂·w3 + b3.
 * @returns tensors that the caller disposes
 */
export function upperForward({ w2, b2, w3, b3 }: Tensors<UpperName>, hidden1: tf.Tensor2D) {
  const hidden2 = layer(hidden1, { weights: w2, bias: b2 }, { isTanh: true });
  return { hidden2, output: layer(hidden2, { weights: w3, bias: b3 }) };
}

/**
 * An operation whose gradient is written out.
 * @param inputs those that a gradient is passed on to
 * @param options.saved what `gradients` gets beside the gradient of the value, with the value as the last
 */
export function withGradient(
  inputs: readonly tf.Tensor2D[],
  options: {
    saved: readonly tf.Tensor[];
    value: () => tf.Tensor2D;
    gradients: (dy: tf.Tensor2D, saved: tf.Tensor2D[]) => tf.Tensor2D[];
  },
): tf.Tensor2D {
  const { saved, value, gradients } = options;
  const operation = tf.customGrad<tf.Tensor2D>((...tensors) => {
    const result = value();
    const save = tensors[tensors.length - 1];
    if (typeof save === 'function') save([...saved, result]);
    return { value: result, gradFunc: (dy, saved) => gradients(dy as tf.Tensor2D, saved as tf.Tensor2D[]) };
  });
  return operation(...inputs);
}
