import { expect, it } from 'vitest';
import { likeliest } from '../../src/likeliest.ts';

it('is the first of the largest', () => {
  expect(likeliest([0.2, 0.4, 0.4])).toBe(1);
  expect(likeliest(Float64Array.of(-3, -1))).toBe(1);
});
