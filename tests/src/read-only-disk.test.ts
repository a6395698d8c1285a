import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { makeFolder } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';

const { mkdirSync } = fs;

afterEach(() => {
  fs.mkdirSync = mkdirSync;
  syncBuiltinESMExports();
});

it('says that a disk is read-only, of which Node says that there is no such folder', () => {
  // What Node 20 and 22 do on a disk that is mounted read-only, which only root can mount.
  fs.mkdirSync = (path: fs.PathLike, options?: fs.MakeDirectoryOptions | fs.Mode | null) => {
    const code = typeof options === 'object' && options?.recursive ? 'ENOENT' : 'EROFS';
    throw Object.assign(new Error(`${code}: mkdir '${path}'`), { code });
  };
  syncBuiltinESMExports();
  const path = join('runs', 'mine');
  expect(() => makeFolder(path)).toThrow(InputError);
  expect(() => makeFolder(path)).toThrow(
    'cannot make the folder runs/mine (EROFS): the disk is read-only; choose a folder',
  );
});
