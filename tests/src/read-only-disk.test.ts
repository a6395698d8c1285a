import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { makeFolder } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';

// What Node 20 and 22 do on a disk that is mounted read-only, which only root can mount.
vi.mock('node:fs', async (original) => ({
  ...(await original<typeof import('node:fs')>()),
  mkdirSync(path: string, options?: { recursive: boolean }) {
    const code = options?.recursive ? 'ENOENT' : 'EROFS';
    throw Object.assign(new Error(`${code}: mkdir '${path}'`), { code });
  },
}));

it('says that a disk is read-only, of which Node says that there is no such folder', () => {
  const path = join('runs', 'mine');
  expect(() => makeFolder(path)).toThrow(InputError);
  expect(() => makeFolder(path)).toThrow(
    'cannot make the folder runs/mine (EROFS): the disk is read-only; choose a folder',
  );
});
