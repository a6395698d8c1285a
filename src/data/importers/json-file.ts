import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BadItemError } from '../bad-item.ts';
import { parseJson } from '../thread-file.ts';

/**
 * The value in a JSON file.
 * @throws BadItemError for a file that cannot be read or is not JSON
 */
export async function jsonIn(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new BadItemError({ place: path, value: error.code ?? error.message, reason: 'cannot be read' });
  });
  return parseJson(text, path);
}

/** Names in a folder, sorted so that an import does not depend on the file system; none if there is no such folder. */
export async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  // The PHEME and RumourEval archives contain files that macOS left behind, such as `._500.json`.
  return names.filter((name) => !name.startsWith('.')).sort();
}

/** The path of the first of several folders that exists and is not empty; null if none does. */
export async function firstFolder(parent: string, names: readonly string[]): Promise<string | null> {
  for (const name of names) {
    const path = join(parent, name);
    if ((await namesIn(path)).length > 0) return path;
  }
  return null;
}
