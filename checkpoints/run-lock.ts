import { existsSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import Database from 'libsql';
import { makeFolder } from '../src/atomic-file.ts';
import { sha256 } from '../src/content-hash.ts';
import { InputError } from '../src/errors.ts';

/** How long the process that writes a run may take to end after a signal. */
const patienceMs = 20_000;

/**
 * Works while no other process of this user and machine can write the run. The lock is SQLite's lock on an empty file
 * in the folder for temporary files: the operating system releases it when the process ends, however it ends. Other
 * machines on a shared disk are not excluded.
 * @throws InputError if another process writes the run and does not end within 20 seconds
 */
export async function holdingRun<T>(
  directory: string,
  work: () => Promise<T>,
  options: { patienceMs?: number } = {},
): Promise<T> {
  const held = lock(directory, options.patienceMs ?? patienceMs);
  try {
    return await work();
  } finally {
    held.close();
  }
}

/** @throws InputError if another process is writing the run */
export async function removeRun(directory: string): Promise<void> {
  if (!existsSync(directory)) return;
  await holdingRun(directory, async () => rmSync(directory, { recursive: true, force: true }));
}

function lock(directory: string, timeout: number): { close(): unknown } {
  const folder = join(tmpdir(), `earshot-locks-${userInfo().uid}`);
  makeFolder(folder);
  const file = new Database(join(folder, sha256(resolve(directory)).slice(0, 32)), { timeout });
  try {
    file.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') {
      file.close();
      throw new InputError(
        `another process is writing ${directory}; wait for it or stop it, or choose other --runs. Give the command again to go on`,
      );
    }
  }
  return file;
}
