import type { Random } from './random.ts';

interface Shape {
  readonly rows: number;
  readonly columns: number;
}

/**
 * An orthogonal matrix times `gain` (Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear
 * neural networks", 2014): the columns, or the rows if there are fewer of them, are orthonormal. Made by modified
 * Gram–Schmidt from a matrix of normal numbers.
 * @returns row-major [rows, columns]
 */
export function orthogonal(options: Shape & { gain: number; random: Random }): Float32Array {
  const { rows, columns, gain, random } = options;
  const count = Math.min(rows, columns);
  const length = Math.max(rows, columns);
  const vectors = Array.from({ length: count }, () => Float64Array.from({ length }, () => random.normal()));
  for (const [index, vector] of vectors.entries()) {
    for (const earlier of vectors.slice(0, index)) {
      const overlap = dot(vector, earlier);
      for (let i = 0; i < length; i++) vector[i] -= overlap * earlier[i];
    }
    const norm = Math.sqrt(dot(vector, vector));
    for (let i = 0; i < length; i++) vector[i] /= norm;
  }
  const matrix = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      matrix[row * columns + column] = gain * (rows >= columns ? vectors[column][row] : vectors[row][column]);
  return matrix;
}

/**
 * A matrix uniform in ±1/√fanIn, PyTorch's default for the weights and biases of linear layers.
 * @returns row-major [rows, columns]
 */
export function uniformFanIn(options: Shape & { fanIn: number; random: Random }): Float32Array {
  const bound = 1 / Math.sqrt(options.fanIn);
  return Float32Array.from(
    { length: options.rows * options.columns },
    () => bound * (2 * options.random.uniform() - 1),
  );
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
