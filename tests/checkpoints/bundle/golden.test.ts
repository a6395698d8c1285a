import { expect, it } from 'vitest';
import { firstStop, isTied } from '../../../checkpoints/bundle/golden.ts';

it('stops at the first probability above one half, else at the last post', () => {
  expect(firstStop(Float32Array.of(0.2, 0.5, 0.7, 0.9))).toEqual({ stopStep: 2, stopped: true });
  expect(firstStop(Float32Array.of(0.2, 0.5))).toEqual({ stopStep: 1, stopped: false });
});

it('knows a stop that rounding could move', () => {
  expect(isTied(Float32Array.of(0.2, 0.500001, 0.9))).toBe(true);
  expect(isTied(Float32Array.of(0.499995, 0.9))).toBe(true);
  expect(isTied(Float32Array.of(0.2, 0.9, 0.5))).toBe(false);
  expect(isTied(Float32Array.of(0.2, 0.49))).toBe(false);
});
