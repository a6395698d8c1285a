import { existsSync } from 'node:fs';
import { InputError } from '../../src/errors.ts';
import { missingPath } from '../../src/missing-path.ts';

/**
 * The path, of something that is there. Opening a store, for one, would create it and hide a mistyped path.
 * @throws InputError with paths like it
 */
export function existingPath(path: string): string {
  if (!existsSync(path)) throw new InputError(missingPath(path));
  return path;
}

/** @throws InputError if a file would be written over */
export function refuseExisting({ out, force }: { out: string; force: boolean }): void {
  if (existsSync(out) && !force)
    throw new InputError(`${out} exists already; give another --out, or --force to write over it`);
}
