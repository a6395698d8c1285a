import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BadItemError, eachOrSkip, orSkip, type SkipOptions } from '../bad-item.ts';
import {
  aboveLimit,
  type ReadingOptions,
  readJsonTexts,
  readWholeText,
  sizeLimit,
  wholeAdvice,
} from '../text-lines.ts';
import { itemsOfLines, parseJson } from '../thread-file.ts';

/**
 * Reads items of foreign JSON: each line of JSON Lines, or a text with a list or a single object.
 * @param parse makes an item of a value, or throws a BadItemError
 * @throws InputError for a bad item that is not skipped
 */
export async function* itemsOfJson<Item>(
  path: string,
  options: SkipOptions & ReadingOptions,
  parse: (value: unknown, place: string) => Item,
): AsyncGenerator<Item> {
  if (await isJsonLines(path, options)) {
    yield* itemsOfLines(readJsonTexts(path, options), { ...options, name: path }, parse);
    return;
  }
  const text = await readWholeText(path, options);
  const value = await orSkip(options, () => parseJson(text, path));
  if (value === null) return;
  const items = Array.isArray(value)
    ? value.map((each, index) => [each, `${path} item ${index + 1}`])
    : [[value, path]];
  yield* eachOrSkip(items, options, ([each, place]) => parse(each, place));
}

/** Whether the first line that is not blank is a whole JSON value. */
async function isJsonLines(path: string, options: ReadingOptions): Promise<boolean> {
  for await (const { text } of readJsonTexts(path, options)) return !/^\s*(\[|\{\s*$)/.test(text);
  return true;
}

/** The value in a JSON file. @throws BadItemError for a file that cannot be read or is not JSON */
export async function jsonIn(path: string): Promise<unknown> {
  await checkSize(path);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new BadItemError({ place: path, value: error.code ?? error.message, reason: 'cannot be read' });
  });
  return parseJson(text, path);
}

/** @throws BadItemError for a file above `sizeLimit`, which must be read as a whole */
export async function checkSize(path: string): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > sizeLimit())
    throw new BadItemError({
      place: path,
      value: `${size} bytes`,
      reason: `must be read whole and ${aboveLimit({})}; ${wholeAdvice}`,
    });
}

/** Names in a folder, sorted so that an import does not depend on the file system; none for a missing folder. */
export async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  // The PHEME and RumourEval archives contain files that macOS left behind, such as `._500.json`.
  return names.filter((name) => !name.startsWith('.')).sort();
}

/** The file itself, or all files below a folder. */
export async function filesBelow(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const below = await Promise.all((await namesIn(path)).map((name) => filesBelow(join(path, name))));
  return below.flat();
}

/** The path of the first of several folders that exists and is not empty; null without one. */
export async function firstFolder(parent: string, names: readonly string[]): Promise<string | null> {
  for (const name of names) {
    const path = join(parent, name);
    if ((await namesIn(path)).length > 0) return path;
  }
  return null;
}
