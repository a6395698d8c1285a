import { expect, it } from 'vitest';
import { passTrainerTests } from './trainer-tests.ts';

/*
 * Needs nothing beside Node, and time: `npm test` runs what the trainers have in common on onnx, this every test of trainers.
 */

it('the onnx backend passes every test of tensors and trainers', async () => {
  expect(await passTrainerTests('onnx')).toBeGreaterThan(300);
});
