import { expect, it } from 'vitest';
import { isTied } from '../../../checkpoints/policy/golden.ts';

it('knows a stop that rounding could move', () => {
  const isTiedAt = (scores: number[], threshold = 0.5) => isTied(Float32Array.from(scores), { threshold });
  expect(isTiedAt([0.2, 0.500001, 0.9])).toBe(true);
  expect(isTiedAt([0.499995, 0.9])).toBe(true);
  expect(isTiedAt([0.2, 0.9, 0.4])).toBe(false);
  expect(isTiedAt([0.2, 0.8], 0.8)).toBe(true);
});
