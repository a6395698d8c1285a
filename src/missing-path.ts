import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { closest, distance } from 'fastest-levenshtein';
import { InputError } from './errors.ts';

/** Names that are listed if none is similar. */
const mostNames = 5;

/**
 * Says that a path is missing, with the most similar name beside its first missing part, or else the existing names.
 * @param isMeant false for names that cannot be meant here
 */
export function missingPath(path: string, isMeant: (path: string) => boolean = () => true): string {
  let missing = path;
  while (dirname(missing) !== missing && !existsSync(dirname(missing))) missing = dirname(missing);
  const folder = dirname(missing);
  const name = basename(missing);
  const names = namesIn(folder).filter((other) => isMeant(join(folder, other)));
  const there = `there is no ${path}`;
  if (names.length === 0) return there;
  const nearest = closest(name, names);
  if (distance(name, nearest) <= Math.max(2, name.length / 3))
    return `${there}; did you mean ${join(folder, nearest) + path.slice(missing.length)}?`;
  const rest = names.length - mostNames;
  return `${there}; ${folder === '.' ? 'this folder' : folder} has ${names.slice(0, mostNames).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** The path, of something that is there. @throws InputError with paths like it */
export function existingPath(path: string): string {
  if (!existsSync(path)) throw new InputError(missingPath(path));
  return path;
}

/** Adds advice to the sentence about a missing path. */
export function missingPathWith(advice: string, ...of: Parameters<typeof missingPath>): string {
  const missing = missingPath(...of);
  return `${missing}${missing.endsWith('?') ? '' : '.'} ${advice}`;
}

/** Says that a folder of runs is missing. */
export function missingRun(path: string): string {
  return missingPathWith('Give a run, such as runs/quickstart/one-query/seed-1', path);
}

/** Without hidden files, and without what a command is still writing (src/atomic-file.ts). */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.') && !name.endsWith('.unfinished'))
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  } catch {
    return [];
  }
}
