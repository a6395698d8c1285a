import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { compiled } from '../../../src/tensor/graph/compiled.ts';
import { gathered, RowTable, type TakenRows } from '../../../src/tensor/row-table.ts';
import { testBackends } from './test-backend.ts';

const data = Float32Array.from({ length: 12 }, (_, i) => i);

async function rowsOf(taken: TakenRows): Promise<tf.Tensor2D> {
  return (await step({ taken })).rows;
}
const step = compiled(({ taken }: { taken: TakenRows }) => ({ rows: gathered(taken) }));

describe.each(testBackends)('RowTable on %s', (backend) => {
  beforeAll(() => selectBackend(backend));

  it('gathers rows in any order and as often as asked', async () => {
    const table = new RowTable({ data, columns: 3 });
    const rows = await rowsOf(table.take(Int32Array.of(3, 0, 0)));
    expect(rows.shape).toEqual([3, 3]);
    expect([...rows.dataSync()]).toEqual([9, 10, 11, 0, 1, 2, 0, 1, 2]);
    rows.dispose();
    table.dispose();
  });

  it('begins with the rows that are asked for where it pads them, with row 0', async () => {
    const table = new RowTable({ data, columns: 3 });
    const padded = await rowsOf(table.takePadded(Int32Array.of(3, 1)));
    const rows = [...padded.dataSync()];
    expect(rows.slice(0, 6)).toEqual([9, 10, 11, 3, 4, 5]);
    expect(rows.length % 3).toBe(0);
    for (const [place, value] of rows.slice(6).entries()) expect(value).toBe(place % 3);
    padded.dispose();
    table.dispose();
  });

  it('hands out copies and frees what it made', async () => {
    const before = tf.memory().numTensors;
    const table = new RowTable({ data: data.slice(), columns: 3 });
    const taken = await Promise.all([0, 1].map(() => rowsOf(table.take(Int32Array.of(1)))));
    for (const own of taken) {
      const read = own.dataSync();
      expect([...read]).toEqual([3, 4, 5]);
      read.fill(99);
    }
    tf.dispose(taken);
    table.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });
});
