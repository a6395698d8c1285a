import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { InputError } from '../errors.ts';

/** One line of a file, without its line end. */
export interface TextLine {
  /** Counted from 1, as editors do. */
  readonly number: number;
  readonly text: string;
}

/**
 * The lines of a UTF-8 file, plain or gzip, one at a time. Blank lines are counted but not returned.
 * @throws InputError for a file that is missing, empty, a folder, not UTF-8 or broken gzip
 */
export async function* readLines(path: string): AsyncGenerator<TextLine> {
  yield* linesOf(await openBytes(path), { path });
}

/**
 * The lines of a stream of UTF-8, each as soon as it is complete. Blank lines are counted but not returned.
 * @param source.path what messages call it
 * @throws InputError for bytes that are not UTF-8, or broken gzip
 */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array | string>,
  { path }: { path: string },
): AsyncGenerator<TextLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let rest = '';
  try {
    for await (const chunk of bytes) {
      const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        number++;
        if (line.trim() !== '') yield { number, text: line };
      }
    }
    rest += decoder.decode();
  } catch (error) {
    throw readingError(error, { path, line: number });
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest };
}

/**
 * The text of a UTF-8 file, plain or gzip, in pieces.
 * @throws InputError for a file that is missing, empty, a folder, not UTF-8 or broken gzip
 */
export async function readText(path: string): Promise<AsyncGenerator<string>> {
  return decoded(await openBytes(path), path);
}

async function* decoded(bytes: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  try {
    for await (const chunk of bytes) {
      const text = decoder.decode(chunk, { stream: true });
      line += text.split('\n').length - 1;
      yield text;
    }
    yield decoder.decode();
  } catch (error) {
    throw readingError(error, { path, line });
  }
}

async function openBytes(path: string): Promise<AsyncIterable<Buffer>> {
  const gzip = await startsAsGzip(path);
  const file = createReadStream(path);
  if (!gzip) return file;
  const unzipped = createGunzip();
  // The reader sees the errors of both streams through `unzipped`.
  pipeline(file, unzipped, () => {});
  return unzipped;
}

/** Decided by the first bytes, not by the name; a file that ends in .gz and is not gzip is an error. */
async function startsAsGzip(path: string): Promise<boolean> {
  await assertFile(path);
  const handle = await open(path).catch((error: unknown) => {
    throw readingError(error, { path, line: 0 });
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    const start = buffer.subarray(0, bytesRead);
    const gzip = start.equals(Buffer.from([0x1f, 0x8b]));
    if (!gzip && path.endsWith('.gz'))
      throw new InputError(
        `${path} ends in .gz but is not gzip: it starts with the bytes ${start.toString('hex')}, not 1f8b. ` +
          'Rename it if it is plain text, or compress it again',
      );
    return gzip;
  } finally {
    await handle.close();
  }
}

/** @throws InputError for a path that is missing, a folder or an empty file */
export async function assertFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw readingError(error, { path, line: 0 });
  });
  if (found.isDirectory()) throw new InputError(`${path} is a directory; a file is needed here`);
  if (found.size === 0) throw new InputError(`${path} is empty (0 bytes); was writing it interrupted?`);
}

function readingError(error: unknown, place: { path: string; line: number }): unknown {
  const { path, line } = place;
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return new InputError(`${path} does not exist; check the path`);
  if (code === 'EACCES' || code === 'EPERM') return new InputError(`${path} may not be read (${code})`);
  if (code.startsWith('Z_'))
    return new InputError(
      `${path}: the gzip data breaks off after line ${line} (${error.message}); copy or compress the file again`,
    );
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return new InputError(`${path}: the text after line ${line} is not UTF-8; convert the file to UTF-8`);
  return error;
}
