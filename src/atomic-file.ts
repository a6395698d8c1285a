import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { diskError } from './errors.ts';
import { writeTarget } from './write-target.ts';

let temporaryFiles = 0;

/** Makes a folder and its missing parents. @throws InputError if the disk refuses */
export function makeFolder(path: string): void {
  try {
    makeFolders(path);
  } catch (error) {
    throw diskError(error, { what: `make the folder ${path}` });
  }
}

/** Makes folders, but throws the system's error: Node's own reports a read-only disk as a missing folder. */
export function makeFolders(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    let missing = resolve(path);
    while (!existsSync(dirname(missing))) missing = dirname(missing);
    mkdirSync(missing); // without `recursive`, the error names the cause
    throw error;
  }
}

/**
 * Replaces a file so that a reader, a crash or a power cut sees the old or the new content, never a part. A symbolic
 * link stays: the file that it points to is replaced. Devices and pipes are written to. write-file-atomic 6 issues a
 * single write and ignores a short one: on a disk that fills up, it renames the truncated file over the good one and
 * reports success.
 * @throws InputError if the disk refuses; the old content is then still there
 */
export function writeFileAtomically(path: string, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  let temporary: string | null = null;
  try {
    const { path: target, isSpecial } = writeTarget(path);
    if (isSpecial) {
      writeFileSync(target, bytes);
      return;
    }
    // In the same folder, because a rename cannot cross disks; hidden, so that it does not look like a finished file.
    temporary = join(dirname(target), `.${basename(target)}.${process.pid}-${++temporaryFiles}.tmp`);
    writeDurably(temporary, bytes);
    renameSync(temporary, target);
    temporary = null;
    syncFolder(dirname(target));
  } catch (error) {
    throw diskError(error, { what: `write ${bytes.byteLength} bytes to ${path}` });
  } finally {
    if (temporary !== null) discard(temporary);
  }
}

function writeDurably(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'wx');
  try {
    writeFileSync(file, bytes); // repeats a short write until everything is written or the system reports an error
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Fails silently, because the original error is the one to report. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The file was never made, or cannot be removed.
  }
}

/** Makes the rename survive a power cut. If a folder cannot be synced, the content is safe anyway. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch {
    // The new file is in place already, so the write has not failed.
  }
}
