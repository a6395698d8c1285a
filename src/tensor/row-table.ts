import * as tf from '@tensorflow/tfjs-core';
import { commonCount, Given, type Leaf, paddedCount, placedOnDevice } from './graph/compiled.ts';
import { isOnDevice } from './operations.ts';

/** Row-major rows, [rows, columns]. */
export interface Rows {
  readonly data: Float32Array;
  readonly columns: number;
}

/** Rows for a step, which `gathered` makes of them there. */
export interface TakenRows {
  /** Null where the rows were taken before the step. */
  readonly table: tf.Tensor2D | null;
  /** Their numbers; without a table the rows themselves. */
  readonly taken: Leaf;
}

/**
 * The rows that a network reads by index. On tensorflow and in graphs the table belongs to the backend, and a step gathers them; on wasm
 * and cpu they are copied in plain JavaScript before, which is fifty times faster than the gather of those backends.
 */
export class RowTable {
  private readonly rows: Rows;
  private readonly table: tf.Tensor2D | null;

  constructor(rows: Rows) {
    this.rows = rows;
    this.table = isOnDevice() ? placedOnDevice(deviceTable(rows)) : null;
  }

  /** Rows by their numbers. */
  take(numbers: Int32Array): TakenRows {
    const { table, rows } = this;
    if (table !== null) return { table, taken: new Given(numbers, [numbers.length]) };
    const { data, columns } = rows;
    const copied = new Float32Array(numbers.length * columns);
    for (const [place, row] of numbers.entries())
      copied.set(data.subarray(row * columns, (row + 1) * columns), place * columns);
    return { table, taken: new Given(copied, [numbers.length, columns]) };
  }

  /** Takes rows whose count differs from call to call: in graphs, row 0 follows until the count is one of few. */
  takePadded(numbers: Int32Array): TakenRows {
    const padded = new Int32Array(paddedCount(numbers.length));
    padded.set(numbers);
    return this.take(padded);
  }

  dispose(): void {
    this.table?.dispose();
  }
}

/** With rows of zeros behind, if that makes a program of runs whose tables are not of one length. */
function deviceTable({ data, columns }: Rows): tf.Tensor2D {
  const rows = data.length / columns;
  const count = commonCount(rows);
  if (count === rows) return tf.tensor2d(data, [rows, columns]);
  const padded = new Float32Array(count * columns);
  padded.set(data);
  return tf.tensor2d(padded, [count, columns]);
}

/** [rows, columns]. */
export function gathered({ table, taken }: TakenRows): tf.Tensor2D {
  // Within a step, where all that it was given is a tensor.
  return table === null ? tf.clone(taken as tf.Tensor2D) : tf.gather(table, taken as tf.Tensor1D);
}
