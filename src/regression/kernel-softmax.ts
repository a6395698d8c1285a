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
  signal?: AbortSignal;
}): Promise<{ coefficients: Float64Array; logits: Float64Array }> {
  const { products, targets, rowWeights, classCount, l2, tolerance, maximumSteps, signal } = options;
  const rows = rowWeights.length;
  const used = Int32Array.from([...rowWeights.keys()].filter((row) => rowWeights[row] > 0));
  const size = used.length * classCount;
  const productsOf = (row: number) => products.subarray(row * rows, (row + 1) * rows);
  const inner = Array.from(used, (row) => pickedFrom(productsOf(row), used));
  const logits = new Float64Array(classCount);

  // A point is its coefficients and, after them, their products with the rows, so that no step computes a product twice. Both are
  // stored class by class: [classes, used rows].
  const { point } = await minimize({
    start: new Float64Array(2 * size),
    lossAt(at, gradient) {
      signal?.throwIfAborted();
      let loss = 0;
      for (let place = 0; place < used.length; place++) {
        const row = used[place];
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
      multiply(inner, gradient);
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

  return readOut(point, { used, productsOf, rows, classCount });
}

/** The coefficients of all rows, and what they say of each; from a point of `fitKernelSoftmax`. */
function readOut(
  point: Float64Array,
  of: { used: Int32Array; productsOf: (row: number) => Float64Array; rows: number; classCount: number },
): { coefficients: Float64Array; logits: Float64Array } {
  const { used, productsOf, rows, classCount } = of;
  const size = used.length * classCount;
  const coefficients = new Float64Array(rows * classCount);
  const logits = new Float64Array(rows * classCount);
  const isUsed = new Uint8Array(rows);
  for (let place = 0; place < used.length; place++) {
    isUsed[used[place]] = 1;
    for (let label = 0; label < classCount; label++) {
      const at = used[place] * classCount + label;
      coefficients[at] = point[label * used.length + place];
      logits[at] = point[size + label * used.length + place];
    }
  }
  for (let row = 0; row < rows; row++) {
    if (isUsed[row] === 1) continue;
    const own = pickedFrom(productsOf(row), used);
    for (let label = 0; label < classCount; label++)
      for (let place = 0; place < used.length; place++)
        logits[row * classCount + label] += own[place] * point[label * used.length + place];
  }
  return { coefficients, logits };
}

function pickedFrom(row: Float64Array, places: Int32Array): Float64Array {
  const picked = new Float64Array(places.length);
  for (let index = 0; index < places.length; index++) picked[index] = row[places[index]];
  return picked;
}

/**
 * Writes the products of a symmetric matrix, given as its rows, with vectors [classes, rows] behind them. The vectors add up to 0, as
 * gradients of a softmax and their sums do, and so do the products: the last one needs no multiplication.
 */
function multiply(matrix: readonly Float64Array[], vectors: Float64Array): void {
  const rows = matrix.length;
  const size = vectors.length / 2;
  const last = 2 * size - rows;
  vectors.fill(0, last);
  for (let from = 0; from < size - rows; from += rows) {
    // An array a row and an array a vector: V8 reads those about twice as fast as places in a large one.
    const vector = vectors.subarray(from, from + rows);
    for (let row = 0; row < rows; row++) {
      const product = dotProduct(matrix[row], vector);
      vectors[size + from + row] = product;
      vectors[last + row] -= product;
    }
  }
}

/** Four sums at a time do not wait for each other. Each is declared by itself: V8 is twice as slow with those of one array. */
function dotProduct(left: Float64Array, right: Float64Array): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let index = 0;
  for (; index + 3 < left.length; index += 4) {
    first += left[index] * right[index];
    second += left[index + 1] * right[index + 1];
    third += left[index + 2] * right[index + 2];
    fourth += left[index + 3] * right[index + 3];
  }
  for (; index < left.length; index++) first += left[index] * right[index];
  return first + second + third + fourth;
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
