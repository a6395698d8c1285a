import { defineConfig } from 'vitest/config';

/** Tests that need programs beside Node (Python) or packages from a registry: `npm run test:interop`. */
export default defineConfig({
  test: {
    include: ['tests/interop/**/*.interop.test.ts'],
    pool: 'forks',
    // Two files must not install the same packages at the same time.
    fileParallelism: false,
    // The first run installs packages and compiles one.
    testTimeout: 600_000,
    hookTimeout: 1_800_000,
  },
});
