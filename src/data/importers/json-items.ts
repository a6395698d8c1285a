import { eachOrSkip, orSkip, type SkipOptions } from '../bad-item.ts';
import { type ReadingOptions, readLines, readWholeText } from '../text-lines.ts';
import { itemsOfLines, parseJson } from '../thread-file.ts';

/**
 * Items of foreign JSON: of each line of JSON Lines, or of one text that holds a list or a single object.
 * @param parse makes an item of a value, or throws a BadItemError
 * @throws InputError for a bad item that is not to be skipped
 */
export async function* itemsOfJson<Item>(
  path: string,
  options: SkipOptions & ReadingOptions,
  parse: (value: unknown, place: string) => Item,
): AsyncGenerator<Item> {
  if (await isJsonLines(path, options)) {
    yield* itemsOfLines(readLines(path, options), { ...options, name: path }, parse);
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

/** Whether the first line that is not blank is no beginning of something longer. */
async function isJsonLines(path: string, options: ReadingOptions): Promise<boolean> {
  for await (const { text } of readLines(path, options)) return !/^\s*(\[|\{\s*$)/.test(text);
  return true;
}
