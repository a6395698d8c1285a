import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { diskError } from './errors.ts';
import { writeTarget } from './write-target.ts';

let temporaryFiles = 0;

/**
 * Makes a folder and those above it, where they are missing.
 * @throws InputError where the disk refuses
 */
export function makeFolder(path: string): void {
  try {
    makeFolders(path);
  } catch (error) {
    throw diskError(error, { what: `make the folder ${path}` });
  }
}

/** As `makeFolder`, with the system's own error: Node says of a read-only disk that there is no such folder. */
export function makeFolders(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    let missing = resolve(path);
    while (!existsSync(dirname(missing))) missing = dirname(missing);
    mkdirSync(missing); // alone, it says what is in the way
    throw error;
  }
}

/**
 * Replaces a file so that a reader, a crash or a power cut sees the old content or the new one, never a part of it. A
 * symbolic link stays one: the file that it points to is replaced. Devices and pipes are written to.
 *
 * Written with `node:fs` because write-file-atomic 6 issues a single write and ignores how much of it was taken. On a
 * disk that fills up half-way, it renames the truncated file over the good one and reports success.
 * @throws InputError where the disk refuses; the old content is then still there
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
    // In the same folder, because a rename cannot cross disks; hidden, so that nobody takes it for a finished file.
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
    writeFileSync(file, bytes); // repeats a short write until everything is written or the system says why not
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Fails silently: the error that led here is the one to report. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The file was never made, or cannot be removed.
  }
}

/** Makes the rename itself survive a power cut. Where a folder cannot be synced, the content is safe all the same. */
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
