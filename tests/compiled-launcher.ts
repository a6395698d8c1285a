import { join } from 'node:path';
import { inject, vi } from 'vitest';

// A process that a command starts in a test runs the compiled program, too.
vi.mock(import('../experiments/launcher.ts'), () => ({
  launcher: join(inject('compiledProgram'), 'experiments/cli/earshot.mjs'),
}));
