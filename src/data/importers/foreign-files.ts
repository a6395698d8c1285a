import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { diskError } from '../../errors.ts';
import { eachOrSkip, orSkip, type SkipOptions } from '../bad-item.ts';
import { type ReadingOptions, readJsonTexts, readWholeText } from '../text-lines.ts';
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
  const value = orSkip(options, () => parseJson(text, path));
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
  return parseJson(await readWholeText(path), path);
}

/** Names in a folder, sorted so that an import does not depend on the file system; none for a missing folder. */
export async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw diskError(error, { what: `read ${folder}` });
  });
  // The PHEME and RumourEval archives contain files that macOS left behind, such as `._500.json`.
  return names.filter((name) => !name.startsWith('.')).sort();
}

/** @throws InputError for a link to nothing, or to a folder that holds it */
export async function isFile(path: string): Promise<boolean> {
  const stats = await stat(path).catch((error: unknown) => {
    throw diskError(error, { what: `read ${path}` });
  });
  return stats.isFile();
}

/** All files at and below paths, without those of folders that are left out. */
export async function filesBelow(
  paths: readonly string[],
  isLeftOut: (path: string) => boolean = () => false,
): Promise<string[]> {
  const below = paths.map(async (path) => {
    if (isLeftOut(path)) return [];
    if (await isFile(path)) return [path];
    const names = await namesIn(path);
    return filesBelow(
      names.map((name) => join(path, name)),
      isLeftOut,
    );
  });
  return (await Promise.all(below)).flat();
}
