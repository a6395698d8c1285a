import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Runs every test of tensors and trainers on a backend.
 * @returns how many passed
 * @throws Error with what vitest prints of those that failed
 */
export async function passTrainerTests(backend: string): Promise<number> {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'tests/trainers', 'tests/src/tensor'];
  const { stdout } = await promisify(execFile)(process.execPath, vitest, {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, EARSHOT_TEST_BACKEND: backend, NO_COLOR: '1' },
    maxBuffer: 1e8,
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`tests of ${backend} failed:\n${error.stdout.slice(-6000)}\n${error.stderr.slice(-12_000)}`);
  });
  return Number(/Tests +(\d+) passed/.exec(stdout)?.[1]);
}
