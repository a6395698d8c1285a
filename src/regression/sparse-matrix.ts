/** The non-zero entries of a vector, by increasing index. */
export interface SparseRow {
  readonly indices: Int32Array;
  readonly values: Float32Array;
}

/** Sparse rows, one after another; row i has the entries `starts[i]` to `starts[i + 1]` − 1. */
export interface SparseMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly starts: Int32Array;
  readonly indices: Int32Array;
  readonly values: Float32Array;
}

/** The sparse form of a vector. Rows without zeros, such as a transformer's, share `dense`, the list of all indices. */
export function sparseRow({ vector, dense }: { vector: Float32Array; dense: Int32Array }): SparseRow {
  let count = 0;
  for (let index = 0; index < vector.length; index++) if (vector[index] !== 0) count++;
  if (count === vector.length) return { indices: dense, values: vector.slice() };
  const indices = new Int32Array(count);
  const values = new Float32Array(count);
  let next = 0;
  for (let index = 0; index < vector.length; index++) {
    if (vector[index] === 0) continue;
    indices[next] = index;
    values[next++] = vector[index];
  }
  return { indices, values };
}

/** Collects rows into one matrix. It grows by doubling, so that the rows are never in memory twice. */
export class SparseMatrixBuilder {
  private readonly starts: number[] = [0];
  private indices = new Int32Array(1024);
  private values = new Float32Array(1024);
  private end = 0;
  private readonly columns: number;

  constructor(options: { columns: number }) {
    this.columns = options.columns;
  }

  /** Adds an entry to the current row; zeros are left out. */
  add(index: number, value: number): void {
    if (value === 0) return;
    if (this.end === this.indices.length) this.grow();
    this.indices[this.end] = index;
    this.values[this.end++] = value;
  }

  addRow({ row, offset, scale }: { row: SparseRow; offset: number; scale: number }): void {
    for (let entry = 0; entry < row.indices.length; entry++)
      this.add(offset + row.indices[entry], scale * row.values[entry]);
  }

  endRow(): void {
    this.starts.push(this.end);
  }

  build(): SparseMatrix {
    return {
      rows: this.starts.length - 1,
      columns: this.columns,
      starts: Int32Array.from(this.starts),
      indices: this.indices.slice(0, this.end),
      values: this.values.slice(0, this.end),
    };
  }

  private grow(): void {
    const { indices, values } = this;
    this.indices = new Int32Array(2 * indices.length);
    this.indices.set(indices);
    this.values = new Float32Array(2 * values.length);
    this.values.set(values);
  }
}
