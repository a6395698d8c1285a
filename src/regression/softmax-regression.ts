import { setImmediate as nextTurn } from 'node:timers/promises';
import { softmaxInPlace } from '../softmax.ts';
import { minimize } from './minimize.ts';
import type { SparseMatrix } from './sparse-matrix.ts';

/*
 * Softmax regression with an L2 penalty. The weights are a combination of the rows (Kimeldorf & Wahba 1971, the representer
 * theorem), so coefficients [rows, classes] determine them, and loss and gradient need only products of the rows. A step of L-BFGS
 * is the same as with a weight for each column, but n-grams have many more columns than rows.
 */

/** Inner products of all rows with each other, row-major [rows, rows]. */
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
    const rowProducts = products.subarray(row * rows, (row + 1) * rows);
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const column = indices[entry];
      const value = values[entry];
      const end = columnEnds[column]++;
      rowOfEntry[end] = row;
      valueOfEntry[end] = value;
      for (let place = columnStarts[column]; place <= end; place++)
        rowProducts[rowOfEntry[place]] += value * valueOfEntry[place];
    }
    for (let other = 0; other < row; other++) products[other * rows + row] = rowProducts[other];
    if (row % 64 === 63) await nextTurn();
  }
  return products;
}

/** Multiplies vectors of some rows with the rows' inner products. */
export interface RowProducts {
  /** For a vector [used], writes the products of these rows with each other times the vector, into [used]. */
  among(used: Int32Array): Multiply;
  /** For a vector [used], writes its products with other rows, into [others]. */
  beyond(used: Int32Array, others: Int32Array): Multiply;
}

type Multiply = (vector: Float64Array, into: Float64Array) => void;

/** For many fits of few rows: each inner product is computed once. */
export async function cachedProducts(features: SparseMatrix): Promise<RowProducts> {
  const products = await innerProducts(features);
  const productsOf = (row: number) => products.subarray(row * features.rows, (row + 1) * features.rows);
  return {
    among(used) {
      // An array per row and an array per vector: V8 reads those about twice as fast as places in a large one.
      const inner = Array.from(used, (row) => pickFrom(productsOf(row), used));
      return (vector, into) => {
        for (let row = 0; row < inner.length; row++) into[row] = dotProduct(inner[row], vector);
      };
    },
    beyond: (used, others) => (vector, into) => {
      for (const [place, row] of others.entries())
        into[place] = pickFrom(productsOf(row), used).reduce((sum, term, index) => sum + term * vector[index], 0);
    },
  };
}

/** For fits of different rows with few entries: a vector is summed into the columns, which each row then reads. */
export function sparseProducts(features: SparseMatrix): RowProducts {
  const sums = new Float64Array(features.columns);
  const between =
    (from: Int32Array, to: Int32Array): Multiply =>
    (vector, into) => {
      sums.fill(0);
      addRows(sums, { features, rows: from, shares: vector });
      readRows(into, { features, rows: to, weights: sums });
    };
  return { among: (used) => between(used, used), beyond: between };
}

/** Adds rows, each times its share, to sums [columns]. */
function addRows(
  sums: Float64Array,
  { features, rows, shares }: { features: SparseMatrix; rows: Int32Array; shares: Float64Array },
): void {
  const { starts, indices, values } = features;
  for (let place = 0; place < rows.length; place++) {
    const share = shares[place];
    const end = starts[rows[place] + 1];
    for (let entry = starts[rows[place]]; entry < end; entry++) sums[indices[entry]] += share * values[entry];
  }
}

/** Writes the products of rows with weights [columns]. */
function readRows(
  products: Float64Array,
  { features, rows, weights }: { features: SparseMatrix; rows: Int32Array; weights: Float64Array },
): void {
  const { starts, indices, values } = features;
  for (let place = 0; place < rows.length; place++) {
    const end = starts[rows[place] + 1];
    let product = 0;
    for (let entry = starts[rows[place]]; entry < end; entry++) product += values[entry] * weights[indices[entry]];
    products[place] = product;
  }
}

/**
 * Minimises Σ rowWeight · −Σ target · log p(class | row) + l2 / 2 · ‖weights‖². Equal data give equal bits.
 * @param options.targets row-major [rows, classes]; a row adds up to 1
 * @param options.rowWeights one per row, summing to 1; 0 leaves a row out
 * @param options.baseLogits logits [rows, classes] to which the regression is added; 0 by default
 * @returns coefficients and logits, without the base logits, of all rows, left out or not; both row-major [rows, classes]
 */
export async function fitSoftmax(options: {
  products: RowProducts;
  targets: Float64Array;
  rowWeights: Float64Array;
  classCount: number;
  baseLogits?: Float64Array | undefined;
  l2: number;
  tolerance: number;
  maximumSteps: number;
  signal?: AbortSignal;
}): Promise<{ coefficients: Float64Array; logits: Float64Array }> {
  const { products, targets, rowWeights, classCount, baseLogits, l2, tolerance, maximumSteps, signal } = options;
  const rows = rowWeights.length;
  const used = Int32Array.from([...rowWeights.keys()].filter((row) => rowWeights[row] > 0));
  const size = used.length * classCount;
  const multiply = products.among(used);
  const logits = new Float64Array(classCount);

  // A point is its coefficients and, after them, their products with the rows, so that no step computes a product
  // twice. Both are stored class by class: [classes, used rows].
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
          loss += 0.5 * l2 * at[index] * logits[label];
          if (baseLogits !== undefined) logits[label] += baseLogits[row * classCount + label];
          const target = targets[row * classCount + label];
          if (target > 0) expected += target * logits[label];
        }
        loss += rowWeights[row] * (softmaxInPlace(logits) - expected);
        for (let label = 0; label < classCount; label++) {
          const index = label * used.length + place;
          gradient[index] = rowWeights[row] * (logits[label] - targets[row * classCount + label]) + l2 * at[index];
        }
      }
      multiplyAll(multiply, gradient, used.length);
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

  return readOut(point, { used, products, rows, classCount });
}

/** The coefficients and logits of all rows, from a point of `fitSoftmax`. */
function readOut(
  point: Float64Array,
  of: { used: Int32Array; products: RowProducts; rows: number; classCount: number },
): { coefficients: Float64Array; logits: Float64Array } {
  const { used, products, rows, classCount } = of;
  const isUsed = new Uint8Array(rows);
  for (const row of used) isUsed[row] = 1;
  const others = Int32Array.from(isUsed.keys()).filter((row) => isUsed[row] === 0);
  const multiply = products.beyond(used, others);
  const coefficients = new Float64Array(rows * classCount);
  const logits = new Float64Array(rows * classCount);
  const ofOthers = new Float64Array(others.length);
  for (let label = 0; label < classCount; label++) {
    const [ofLabel, ofUsed] = [label, classCount + label].map((from) =>
      point.subarray(from * used.length, (from + 1) * used.length),
    );
    multiply(ofLabel, ofOthers);
    for (let place = 0; place < used.length; place++) {
      coefficients[used[place] * classCount + label] = ofLabel[place];
      logits[used[place] * classCount + label] = ofUsed[place];
    }
    for (let place = 0; place < others.length; place++) logits[others[place] * classCount + label] = ofOthers[place];
  }
  return { coefficients, logits };
}

function pickFrom(row: Float64Array, places: Int32Array): Float64Array {
  const picked = new Float64Array(places.length);
  for (let index = 0; index < places.length; index++) picked[index] = row[places[index]];
  return picked;
}

/**
 * Writes the products of vectors [classes, rows] after them. The vectors add up to 0, as gradients of a softmax and
 * their sums do, and so do the products: the last one needs no multiplication.
 */
function multiplyAll(multiply: Multiply, vectors: Float64Array, rows: number): void {
  const size = vectors.length / 2;
  const last = vectors.subarray(2 * size - rows).fill(0);
  for (let from = 0; from < size - rows; from += rows) {
    const products = vectors.subarray(size + from, size + from + rows);
    multiply(vectors.subarray(from, from + rows), products);
    for (let row = 0; row < rows; row++) last[row] -= products[row];
  }
}

/** Four sums at a time do not wait for each other. Each is a variable: V8 is twice as slow with those of an array. */
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

/** Targets of rows whose class is certain. */
export function certainTargets({
  labels,
  classCount,
}: {
  labels: ArrayLike<number>;
  classCount: number;
}): Float64Array {
  const targets = new Float64Array(labels.length * classCount);
  for (let row = 0; row < labels.length; row++) targets[row * classCount + labels[row]] = 1;
  return targets;
}

/** Weights of the columns from coefficients of the rows, row-major [columns, classes]. */
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
