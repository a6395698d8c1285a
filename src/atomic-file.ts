import {
  closeSync,
  createWriteStream,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  type WriteStream,
  writeFileSync,
} from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { diskError } from './errors.ts';

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
 * Writes or replaces a file, and makes its missing folders. A reader, a crash or a power cut sees the old or the new
 * content, never a part. A symbolic link stays: the file that it points to is replaced. Devices and pipes are written
 * to. write-file-atomic 6 issues a single write and ignores a short one: on a disk that fills up, it renames the
 * truncated file over the good one and reports success.
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
    if (!existsSync(dirname(target))) makeFolders(dirname(target));
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

/** The target of a write to a path. */
interface WriteTarget {
  /** The path behind all symbolic links; it need not exist. */
  readonly path: string;
  /** Whether it is a device, a pipe or a socket, which a rename would replace by a file. */
  readonly isSpecial: boolean;
}

/** Follows symbolic links, also those to missing files. */
function writeTarget(path: string): WriteTarget {
  // Only the system can resolve /dev/stdout.
  const reached = statSync(path, { throwIfNoEntry: false });
  if (reached !== undefined && !reached.isFile() && !reached.isDirectory()) return { path, isSpecial: true };
  let target = path;
  for (let links = 0; links < mostLinks; links++) {
    const stats = lstatSync(target, { throwIfNoEntry: false });
    if (!stats?.isSymbolicLink()) return { path: target, isSpecial: false };
    target = resolve(dirname(target), readlinkSync(target));
  }
  // Opening the path will report the problem.
  return { path: target, isSpecial: false };
}

/** As many as Linux follows. */
const mostLinks = 40;

/** Characters. */
const writtenAtOnce = 1 << 18;

/**
 * Writes texts one after the other, as gzip if the name ends in `.gz`. The file gets its name only when it is complete:
 * readers never see half of it, and a failure leaves an older file unchanged.
 * @param options.what the contents, for messages
 * @throws InputError if the disk refuses; errors of `texts` unchanged
 */
export async function writeText(
  path: string,
  { texts, what }: { texts: AsyncIterable<string> | Iterable<string>; what: string },
): Promise<void> {
  let isSourceToBlame = false;
  let file: WriteStream | null = null;
  async function* watched(atOnce: number): AsyncGenerator<string> {
    let pending = '';
    try {
      for await (const text of texts) {
        pending += text;
        if (pending.length < atOnce) continue;
        yield pending;
        pending = '';
      }
      if (pending !== '') yield pending;
    } catch (error) {
      // A failing stream throws its error here, too.
      isSourceToBlame = error !== file?.errored;
      throw error;
    }
  }
  try {
    await mkdir(dirname(path), { recursive: true });
    const target = writeTarget(path);
    // A device or a pipe is written to; any other file gets its name when it is complete.
    const opened = target.isSpecial ? target.path : `${target.path}.${process.pid}.unfinished`;
    // Many small writes take longer than few large ones; but a reader of a pipe may wait for each.
    const text = Readable.from(watched(target.isSpecial ? 0 : writtenAtOnce));
    file = createWriteStream(opened, { flush: !target.isSpecial });
    try {
      if (path.endsWith('.gz')) await pipeline(text, createGzip(), file);
      else await pipeline(text, file);
      if (!target.isSpecial) await rename(opened, target.path);
    } finally {
      if (!target.isSpecial) await rm(opened, { force: true });
    }
  } catch (error) {
    throw isSourceToBlame ? error : diskError(error, { what: `write ${what} to ${path}` });
  }
}
