import { expect, it } from 'vitest';
import { Scratch } from '../../../src/tensor/scratch.ts';

it('gives the same array again for the same name, kind and length, and no other', () => {
  const scratch = new Scratch();
  const rows = scratch.array('rows', 'int32', 3).fill(7);
  expect(rows).toBeInstanceOf(Int32Array);
  expect(scratch.array('rows', 'int32', 3)).toBe(rows);
  for (const other of [
    scratch.array('other', 'int32', 3),
    scratch.array('rows', 'int32', 4),
    scratch.array('rows', 'float32', 4),
    new Scratch().array('rows', 'int32', 3),
  ])
    expect([...other]).toEqual(Array(other.length).fill(0));
});
