import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { diskError, InputError } from '../../src/errors.ts';

/** Finds out whether items can go there before hours of work do. */
export function checkItemFile(path: string): void {
  if (!/\.jsonl(\.gz)?$/.test(path))
    throw new InputError(`--out ${path}: the name must end in .jsonl, or in .jsonl.gz for gzip`);
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw diskError(error, { what: `make the folder of ${path}` });
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new InputError(`--out ${path} is a directory; give the name of a file`);
}

/** One item a line, as gzip when the name ends in `.gz`; the same items are the same bytes. */
export function writeItemFile(path: string, items: readonly unknown[]): void {
  const text = items.map((item) => `${JSON.stringify(item)}\n`).join('');
  writeFileAtomically(path, path.endsWith('.gz') ? gzipSync(text) : text);
}
