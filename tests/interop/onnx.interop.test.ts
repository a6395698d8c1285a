import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/*
 * Needs nothing beside Node, and time: `npm test` runs what the trainers have in common on onnx, this every test of trainers.
 */

it('the onnx backend passes every test of tensors and trainers', async () => {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', 'tests/trainers', 'tests/src/tensor'];
  const { stdout } = await promisify(execFile)(process.execPath, vitest, {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, EARSHOT_TEST_BACKEND: 'onnx', NO_COLOR: '1' },
    maxBuffer: 1e8,
  }).catch((error: { stdout: string }) => error);
  const report = JSON.parse(stdout);
  expect(report.numFailedTests).toBe(0);
  expect(report.numPassedTests).toBeGreaterThan(300);
});
