import { expect, it } from 'vitest';
import { SparseMatrixBuilder, seenColumns } from '../../../src/regression/sparse-matrix.ts';

it('keeps the columns that rows have, in their order', () => {
  const builder = new SparseMatrixBuilder({ columns: 6 });
  builder.add(4, 0.5);
  builder.add(1, 2);
  builder.endRow();
  builder.endRow();
  builder.add(1, 3);
  builder.endRow();
  const { columns, features } = seenColumns(builder.build());
  expect([...columns]).toEqual([1, 4]);
  expect(features).toMatchObject({ rows: 3, columns: 2 });
  expect([...features.starts]).toEqual([0, 2, 2, 3]);
  expect([...features.indices]).toEqual([1, 0, 0]);
  expect([...features.values]).toEqual([0.5, 2, 3]);
});
