import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
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
