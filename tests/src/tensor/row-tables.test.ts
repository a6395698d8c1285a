import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { RowTables } from '../../../src/tensor/row-tables.ts';
import { testBackends } from './test-backend.ts';

const data = Float32Array.from({ length: 12 }, (_, i) => i);

describe.each(testBackends)('RowTables on %s', (backend) => {
  beforeAll(() => selectBackend(backend));

  it('gathers rows for each member, in any order and as often as asked', () => {
    const table = new RowTables([
      { data, columns: 3 },
      { data, columns: 3 },
    ]);
    const gathered = table.gather([Int32Array.of(3, 0, 0), Int32Array.of(1, 3, 2)]);
    expect(gathered.shape).toEqual([2, 3, 3]);
    expect([...gathered.dataSync()]).toEqual([9, 10, 11, 0, 1, 2, 0, 1, 2, 3, 4, 5, 9, 10, 11, 6, 7, 8]);
    gathered.dispose();
    table.dispose();
  });

  it('gathers from each member’s own table', () => {
    const table = new RowTables([
      { data, columns: 3 },
      { data: data.slice(0, 6).map((value) => -value), columns: 3 },
    ]);
    const gathered = table.gather([Int32Array.of(3), Int32Array.of(1)]);
    expect([...gathered.dataSync()]).toEqual([9, 10, 11, -3, -4, -5]);
    gathered.dispose();
    table.dispose();
  });

  it('hands out copies and frees what it made', () => {
    const before = tf.memory().numTensors;
    const table = new RowTables([{ data: data.slice(), columns: 3 }]);
    const gathered = [0, 1].map(() => table.gather([Int32Array.of(1)]));
    for (const own of gathered) {
      const read = own.dataSync();
      expect([...read]).toEqual([3, 4, 5]);
      read.fill(99);
    }
    tf.dispose(gathered);
    table.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });
});
