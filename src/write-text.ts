import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { diskError } from './errors.ts';
import { writeTarget } from './write-target.ts';

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
