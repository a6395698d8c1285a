import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Folders of tests lie in memory if it has room: the program flushes every file that it writes, which a disk takes milliseconds for. */
function testFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 4e9 ? memory : tmpdir();
}

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // Needs Python: `npm run test:interop`.
    exclude: ['tests/interop/**'],
    globalSetup: ['tests/compiled-program.ts'],
    setupFiles: ['tests/compiled-launcher.ts'],
    // Tests change the working directory, of which a process has one; threads would share it.
    pool: 'forks',
    // Importing the sources and their packages anew for every file took as long as the tests. So a test must leave nothing
    // behind that another could see.
    isolate: false,
    restoreMocks: true,
    env: {
      TMPDIR: testFolder(),
      // The bytes that tests expect are those of wasm, whatever library was compiled on this machine. The interop tests name one.
      EARSHOT_TENSORFLOW: process.env.EARSHOT_TENSORFLOW ?? 'none',
      EARSHOT_ONNX: process.env.EARSHOT_ONNX ?? 'none',
    },
    maxWorkers: 2,
    // For machines that do other things, too. Nothing passes or fails by its speed.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: [
        'src/**/*.ts',
        'envs/**/*.ts',
        'checkpoints/**/*.ts',
        'experts/**/*.ts',
        'trainers/**/*.ts',
        'experiments/**/*.ts',
      ],
      reporter: ['text-summary', 'html'],
    },
  },
});
