import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { crc32 } from '@node-rs/crc32';
import { InputError } from '../../errors.ts';

/** A file in a zip archive. */
export interface ZippedFile {
  /** The name with its folders, separated by slashes. */
  readonly name: string;
  /** Yields the content in pieces, as often as needed. @throws InputError for damaged content */
  read(): AsyncIterable<Uint8Array>;
}

/** The length of the record at the end, without its comment of at most 65,535 bytes. */
const endLength = 22;

/**
 * The files of a zip archive (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, §4.3), stored or deflated.
 * @returns null for a file that does not begin like one
 * @throws InputError for an archive that breaks off, is encrypted or has 4 GB or more
 */
export async function zippedFiles(path: string): Promise<ZippedFile[] | null> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const start = await bytesAt(handle, 0, Math.min(4, size));
    if (start.toString('latin1') !== 'PK\x03\x04') return null;
    const tail = await bytesAt(handle, Math.max(0, size - endLength - 0xffff), Math.min(size, endLength + 0xffff));
    const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
    if (end < 0 || end + endLength > tail.length) throw refusal(path, 'has no list of its files; copy it again');
    const [count, length, offset] = [
      tail.readUInt16LE(end + 10),
      tail.readUInt32LE(end + 12),
      tail.readUInt32LE(end + 16),
    ];
    if (count === 0xffff || offset === 0xffffffff) throw refusal(path, 'has 4 GB or 65,535 files or more; unpack it');
    if (offset + length > size) throw refusal(path, 'has no list of its files; copy it again');
    return await listFiles(handle, { path, count, directory: await bytesAt(handle, offset, length) });
  } finally {
    await handle.close();
  }
}

async function listFiles(
  handle: FileHandle,
  { path, count, directory }: { path: string; count: number; directory: Buffer },
): Promise<ZippedFile[]> {
  const files: ZippedFile[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (at + 46 > directory.length) throw refusal(path, 'has a list of files that breaks off; copy it again');
    const [flags, method] = [directory.readUInt16LE(at + 8), directory.readUInt16LE(at + 10)];
    const [checksum, packed, whole] = [16, 20, 24].map((field) => directory.readUInt32LE(at + field));
    const lengths = [28, 30, 32].map((field) => directory.readUInt16LE(at + field));
    const local = directory.readUInt32LE(at + 42);
    const name = directory.toString('utf8', at + 46, at + 46 + lengths[0]);
    at += 46 + lengths[0] + lengths[1] + lengths[2];
    if (name.endsWith('/')) continue;
    if ((flags & 1) !== 0 || (method !== 0 && method !== 8))
      throw refusal(path, `has ${name} encrypted or packed by method ${method}; unpack it`);
    const header = await bytesAt(handle, local, 30);
    const start = local + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
    const read = () => content({ path, name, isDeflated: method === 8, start, packed, whole, checksum });
    files.push({ name, read });
  }
  return files;
}

async function* content(of: {
  path: string;
  name: string;
  isDeflated: boolean;
  start: number;
  packed: number;
  whole: number;
  checksum: number;
}): AsyncGenerator<Uint8Array> {
  const damaged = (cause?: unknown) => refusal(of.path, `has a damaged ${of.name}; copy the archive again`, cause);
  if (of.packed === 0 && of.whole > 0) throw damaged();
  if (of.packed === 0) return;
  const file = createReadStream(of.path, { start: of.start, end: of.start + of.packed - 1 });
  // The reader sees the errors of both streams through the last.
  const unpacked = of.isDeflated ? pipeline(file, createInflateRaw(), () => {}) : file;
  let [length, checksum] = [0, 0];
  try {
    for await (const chunk of unpacked) {
      length += chunk.length;
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) throw damaged(error);
    throw error;
  }
  if (length !== of.whole || checksum !== of.checksum) throw damaged();
}

async function bytesAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  await handle.read(buffer, 0, length, position);
  return buffer;
}

function refusal(path: string, what: string, cause?: unknown): InputError {
  return new InputError(`${path} is a zip archive that ${what}`, { cause });
}
