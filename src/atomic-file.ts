import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { diskError } from './errors.ts';

let temporaryFiles = 0;

/**
 * Replaces a file so that a reader, a crash or a power cut sees the old content or the new one, never a part.
 * Written with `node:fs` because write-file-atomic 6 issues a single write and ignores how much of it was taken: on a
 * disk that fills up half-way it renames the truncated file over the good one and reports success.
 */
export function writeFileAtomically(path: string, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  let temporary: string | null = null;
  try {
    const target = throughLinks(path);
    // In the same folder, for a rename cannot cross disks; hidden, so that nobody takes it for a finished file.
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

/** A rename would replace a symbolic link by a file; what it points to is meant. */
function throughLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function writeDurably(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'wx');
  try {
    writeFileSync(file, bytes); // goes on after a short write until all is taken or the system says why not
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The error that led here is the one to report, not what removing the rest of the file may add to it. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It was never made, or lies where nothing can be removed.
  }
}

/** Makes the rename itself survive a power cut. Some systems cannot sync a folder; the content is safe there too. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch {
    // The new file is in place already, so this is no failure of the write.
  }
}
