import { setImmediate as nextTurn } from 'node:timers/promises';
import { softmaxInPlace } from '../softmax.ts';
import { minimize } from './softmax-regression.ts';
import type { SparseMatrix } from './sparse-matrix.ts';

/*
 * The softmax regression of softmax-regression.ts, with a prior of 0, for rows that are few beside their columns. Its weights are a
 * combination of the rows (Kimeldorf & Wahba 1971, the representer theorem), so coefficients [rows, classes] say all, and loss and
 * gradient need the rows' inner products alone. A step of L-BFGS is the same in either form.
 */

/** Inner products of all rows with each other; row-major [rows, rows]. */
export async function innerProducts({ rows, columns, starts, indices, values }: SparseMatrix): Promise<Float64Array> {
  const products = new Float64Array(rows * rows);
  // The entries of each column, in the order of the rows.
  const columnStarts = new Int32Array(columns + 1);
  for (const column of indices) columnStarts[column + 1]++;
  for (let column = 0; column < columns; column++) columnStarts[column + 1] += columnStarts[column];
  const columnEnds = columnStarts.slice(0, columns);
  const rowOfEntry = new Int32Array(indices.length);
  const valueOfEntry = new Float64Array(indices.length);
  for (let row = 0; row < rows; row++) {
    const own = products.subarray(row * rows, (row + 1) * rows);
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const column = indices[entry];
      const value = values[entry];
      const end = columnEnds[column]++;
      rowOfEntry[end] = row;
      valueOfEntry[end] = value;
      for (let place = columnStarts[column]; place <= end; place++)
        own[rowOfEntry[place]] += value * valueOfEntry[place];
    }
    for (let other = 0; other < row; other++) products[other * rows + row] = own[other];
    if (row % 64 === 63) await nextTurn();
  }
  return products;
}

/**
 * Minimises Σ rowWeight · −Σ target · log p(class | row) + l2 / 2 · ‖weights‖². The same data always gives the same bits.
 * @param options.products of all rows, as `innerProducts` gives them
 * @param options.targets row-major [rows, classes]; a row adds up to 1
 * @param options.rowWeights one for each row, summing to 1; 0 leaves a row out
 * @returns coefficients of the rows and what the weights say of each, left out or not; both row-major [rows, classes]
 */
export async function fitKernelSoftmax(options: {
  products: Float64Array;
  targets: Float64Array;
  rowWeights: Float64Array;
  classCount: number;
  l2: number;
  tolerance: number;
  maximumSteps: number;
  signal?: AbortSignal | undefined;
}): Promise<{ coefficients: Float64Array; logits: Float64Array }> {
  const { products, targets, rowWeights, classCount, l2, tolerance, maximumSteps, signal } = options;
  const rows = rowWeights.length;
  const used = Int32Array.from([...rowWeights.keys()].filter((row) => rowWeights[row] > 0));
  const size = used.length * classCount;
  const inner = new Float64Array(used.length ** 2);
  for (const [place, row] of used.entries())
    for (const [other, column] of used.entries()) inner[place * used.length + other] = products[row * rows + column];
  const logits = new Float64Array(classCount);

  // A point is its coefficients and, after them, their products with the rows, so that no step computes a product twice. Both are
  // stored class by class: [classes, used rows].
  const { point } = await minimize({
    start: new Float64Array(2 * size),
    lossAt(at, gradient) {
      signal?.throwIfAborted();
      let loss = 0;
      for (const [place, row] of used.entries()) {
        let expected = 0;
        for (let label = 0; label < classCount; label++) {
          const index = label * used.length + place;
          logits[label] = at[size + index];
          expected += targets[row * classCount + label] * logits[label];
          loss += 0.5 * l2 * at[index] * logits[label];
        }
        loss += rowWeights[row] * (softmaxInPlace(logits) - expected);
        for (let label = 0; label < classCount; label++) {
          const index = label * used.length + place;
          gradient[index] = rowWeights[row] * (logits[label] - targets[row * classCount + label]) + l2 * at[index];
        }
      }
      multiply({ matrix: inner, vectors: gradient, rows: used.length });
      return loss;
    },
    dot(left, right) {
      let sum = 0;
      for (let index = 0; index < size; index++) sum += left[index] * right[size + index];
      return sum;
    },
    convexity: l2,
    tolerance,
    maximumSteps,
  });

  const coefficients = new Float64Array(rows * classCount);
  for (const [place, row] of used.entries())
    for (let label = 0; label < classCount; label++)
      coefficients[row * classCount + label] = point[label * used.length + place];
  const said = new Float64Array(rows * classCount);
  for (let row = 0; row < rows; row++)
    for (const [place, other] of used.entries())
      for (let label = 0; label < classCount; label++)
        said[row * classCount + label] += products[row * rows + other] * point[label * used.length + place];
  return { coefficients, logits: said };
}

/**
 * Writes the products of a symmetric matrix with vectors [classes, rows] behind them. The vectors add up to 0, as gradients of a
 * softmax and their sums do, and so do the products: the last one needs no multiplication.
 */
function multiply({ matrix, vectors, rows }: { matrix: Float64Array; vectors: Float64Array; rows: number }): void {
  const size = vectors.length / 2;
  const last = 2 * size - rows;
  for (let row = 0; row < rows; row++) {
    const at = row * rows;
    let sum = 0;
    for (let from = 0; from < size - rows; from += rows) {
      // Four sums at a time do not wait for each other.
      let [first, second, third, fourth] = [0, 0, 0, 0];
      let column = 0;
      for (; column + 3 < rows; column += 4) {
        first += matrix[at + column] * vectors[from + column];
        second += matrix[at + column + 1] * vectors[from + column + 1];
        third += matrix[at + column + 2] * vectors[from + column + 2];
        fourth += matrix[at + column + 3] * vectors[from + column + 3];
      }
      for (; column < rows; column++) first += matrix[at + column] * vectors[from + column];
      const product = first + second + third + fourth;
      vectors[size + from + row] = product;
      sum += product;
    }
    vectors[last + row] = -sum;
  }
}

/** Weights of the columns from coefficients of the rows; row-major [columns, classes]. */
export function combinedRows(options: {
  features: SparseMatrix;
  coefficients: Float64Array;
  classCount: number;
}): Float64Array {
  const { features, coefficients, classCount } = options;
  const weights = new Float64Array(features.columns * classCount);
  for (let row = 0; row < features.rows; row++)
    for (let entry = features.starts[row]; entry < features.starts[row + 1]; entry++)
      for (let label = 0; label < classCount; label++)
        weights[features.indices[entry] * classCount + label] +=
          features.values[entry] * coefficients[row * classCount + label];
  return weights;
}
