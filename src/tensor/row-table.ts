import * as tf from '@tensorflow/tfjs-core';
import { paddedCount, takenRows } from './graph/compiled.ts';
import { isOnDevice } from './operations.ts';

/** Row-major rows, [rows, columns]. */
export interface Rows {
  readonly data: Float32Array;
  readonly columns: number;
}

/**
 * The rows that a network reads by index. On tensorflow and in graphs the table belongs to the backend and is gathered there; on wasm and cpu
 * rows are copied in plain JavaScript, which is fifty times faster than the gather of those backends.
 */
export class RowTable {
  private readonly rows: Rows;
  private readonly onDevice: tf.Tensor2D | null;

  constructor(rows: Rows) {
    const { data, columns } = rows;
    this.rows = rows;
    this.onDevice = isOnDevice() ? tf.tensor2d(data, [data.length / columns, columns]) : null;
  }

  /** Rows by their numbers, [numbers, columns]. The caller disposes them. */
  gather(numbers: Int32Array): tf.Tensor2D {
    const { onDevice, rows } = this;
    const { data, columns } = rows;
    if (onDevice !== null) return tf.tidy(() => takenRows(onDevice, tf.tensor1d(numbers, 'int32')) as tf.Tensor2D);
    const copied = new Float32Array(numbers.length * columns);
    for (const [place, row] of numbers.entries())
      copied.set(data.subarray(row * columns, (row + 1) * columns), place * columns);
    return tf.tensor2d(copied, [numbers.length, columns]);
  }

  /** The same, where their count differs from call to call: in graphs, row 0 follows until the count is one of few. */
  gatherPadded(numbers: Int32Array): tf.Tensor2D {
    const padded = new Int32Array(paddedCount(numbers.length));
    padded.set(numbers);
    return this.gather(padded);
  }

  dispose(): void {
    this.onDevice?.dispose();
  }
}
