import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { configure } from 'safe-stable-stringify';
import { diskError } from './errors.ts';

const stringify = configure({ deterministic: true, strict: true });

/**
 * JSON with sorted keys and no spaces: equal texts for equal values only. −0 counts as 0, and an undefined property is
 * left out.
 * @throws Error for a value that JSON cannot hold: NaN, an infinity, a function, a cycle
 */
export function canonicalJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** Identifies a value by the SHA-256 of its canonical JSON. @throws Error for a value that JSON cannot hold */
export function sha256(value: unknown): string {
  const hash = createHash('sha256');
  for (const piece of piecesOf(value)) hash.update(piece);
  return hash.digest('hex');
}

/** A list of lists or objects in pieces: the text of many threads would exceed the length of a string. */
function* piecesOf(value: unknown): Generator<string> {
  if (!Array.isArray(value) || typeof value[0] !== 'object') {
    yield canonicalJson(value);
    return;
  }
  for (const [index, item] of value.entries()) {
    yield index === 0 ? '[' : ',';
    yield* piecesOf(item);
  }
  yield ']';
}

/** SHA-256 of a text, in hexadecimal. */
export function sha256OfText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** `sha256` of a list whose items come one at a time and need not be in memory together. */
export function sha256OfList(): { add(item: unknown): void; digest(): string } {
  const hash = createHash('sha256').update('[');
  let isFirst = true;
  return {
    add(item) {
      if (!isFirst) hash.update(',');
      isFirst = false;
      for (const piece of piecesOf(item)) hash.update(piece);
    },
    digest: () => hash.update(']').digest('hex'),
  };
}

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
