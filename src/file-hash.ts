import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { diskError } from './errors.ts';

/** SHA-256 of a file's bytes, in hexadecimal. @throws InputError if it cannot be read */
export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
  } catch (error) {
    throw diskError(error, { what: `read ${path}` });
  }
  return hash.digest('hex');
}

/** SHA-256 of every file, by its path. @throws InputError if one cannot be read */
export async function hashesOf(files: readonly string[]): Promise<Record<string, string>> {
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, await hashOfFile(file)] as const)));
}
