import * as tf from '@tensorflow/tfjs-core';
import { isOnDevice } from './batched-ops.ts';
import { paddedCount, takenRows } from './onnx/compiled.ts';

/** Row-major rows, [rows, columns]. */
export interface Rows {
  readonly data: Float32Array;
  readonly columns: number;
}

/**
 * The rows that each member's network reads by index. On tensorflow and onnx the tables belong to the backend and are gathered there; on
 * wasm and cpu rows are copied in plain JavaScript, which is fifty times faster than the gather of those backends.
 */
export class RowTables {
  private readonly members: readonly Rows[];
  private readonly columns: number;
  private readonly onDevice: { table: tf.Tensor2D; firstRows: readonly number[] } | null;

  /** One table a member, all with the same columns; members may share one. */
  constructor(members: readonly Rows[]) {
    this.members = members;
    this.columns = members[0].columns;
    this.onDevice = isOnDevice() ? upload(members, this.columns) : null;
  }

  /**
   * `rows` holds one list for each member, or as many for each, all of the same length; returns [lists, rows, columns]. The caller
   * disposes it.
   */
  gather(rows: readonly Int32Array[]): tf.Tensor3D {
    const { columns, onDevice } = this;
    const count = rows[0].length;
    const listsOfMember = rows.length / this.members.length;
    const shape: [number, number, number] = [rows.length, count, columns];
    if (onDevice !== null)
      return tf.tidy(() => {
        const all = new Int32Array(rows.length * count);
        for (const [list, own] of rows.entries()) {
          const firstRow = onDevice.firstRows[Math.floor(list / listsOfMember)];
          for (let i = 0; i < count; i++) all[list * count + i] = firstRow + own[i];
        }
        return takenRows(onDevice.table, tf.tensor2d(all, [rows.length, count], 'int32')) as tf.Tensor3D;
      });
    const copied = new Float32Array(rows.length * count * columns);
    for (const [list, own] of rows.entries()) {
      const { data } = this.members[Math.floor(list / listsOfMember)];
      for (let i = 0; i < count; i++)
        copied.set(data.subarray(own[i] * columns, (own[i] + 1) * columns), (list * count + i) * columns);
    }
    return tf.tensor3d(copied, shape);
  }

  /** As many rows of every member as the longest list has; the others are padded with row 0. */
  gatherPadded(rows: readonly Int32Array[]): tf.Tensor3D {
    const most = paddedCount(Math.max(...rows.map(({ length }) => length)));
    return this.gather(
      rows.map((own) => {
        if (own.length === most) return own;
        const padded = new Int32Array(most);
        padded.set(own);
        return padded;
      }),
    );
  }

  dispose(): void {
    this.onDevice?.table.dispose();
  }
}

/** Every distinct table once, one below the other. */
function upload(members: readonly Rows[], columns: number) {
  const distinct = [...new Set(members)];
  if (distinct.length === 1) {
    const { data } = distinct[0];
    return { table: tf.tensor2d(data, [data.length / columns, columns]), firstRows: members.map(() => 0) };
  }
  const firstRow = new Map<Rows, number>();
  let rows = 0;
  for (const table of distinct) {
    firstRow.set(table, rows);
    rows += table.data.length / columns;
  }
  const data = new Float32Array(rows * columns);
  for (const table of distinct) data.set(table.data, (firstRow.get(table) ?? 0) * columns);
  return { table: tf.tensor2d(data, [rows, columns]), firstRows: members.map((own) => firstRow.get(own) ?? 0) };
}
