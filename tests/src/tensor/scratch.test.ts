import { expect, it } from 'vitest';
import { Scratch } from '../../../src/tensor/scratch.ts';

it('gives the same array again for the same name, kind and length, and no other', () => {
  const scratch = new Scratch();
  const rows = scratch.array('int32', 3).fill(7);
  expect(rows).toBeInstanceOf(Int32Array);
  expect(scratch.array('int32', 3)).toBe(rows);
  for (const other of [
    scratch.array('int32', 4),
    scratch.array('int32', 3, 'other'),
    scratch.array('float32', 3),
    new Scratch().array('int32', 3),
  ])
    expect([...other]).toEqual(Array(other.length).fill(0));
});
