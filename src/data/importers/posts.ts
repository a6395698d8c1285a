import { BadItemError, type SkipOptions, shortened } from '../bad-item.ts';
import type { ReadingOptions } from '../text-lines.ts';
import { itemsOfJson } from './foreign-files.ts';
import type { Importer } from './importer.ts';
import type { TableRow } from './table/cells.ts';
import { type PostTable, threadsOfTables } from './table/threads-of-tables.ts';

/** Posts as JSON, each with the names of its conversation and of what it answers. */
export const postsImporter: Importer = {
  name: 'posts',
  description:
    'a JSON object for each post, from twarc, the APIs of X, Bluesky, Mastodon and Reddit, or Telegram; nested names have dots (user.screen_name)',
  expects: 'one or more files of JSON Lines, plain or gzip, or of a JSON list of posts',
  takes: ['table', 'encoding'],
  async *read(paths, options) {
    // A name may stand in a few posts only, and not in the first ones, so all are looked at before any is read.
    const headings = new Set<string>();
    const silent = { ...options, skipInvalid: true, onSkipped: undefined };
    for await (const rows of rowsOf(silent))
      for (const { value } of rows) for (const name of Object.keys(value)) headings.add(name);
    async function* rowsOf(reading: SkipOptions & ReadingOptions): AsyncGenerator<readonly TableRow[]> {
      for (const path of paths) yield* itemsOfJson(path, reading, rowsOfItem);
    }
    async function* tables(): AsyncGenerator<PostTable> {
      const rows = rowsOf(options);
      if (headings.size > 0) yield { source: paths.join(', '), headings: [...headings], rows };
      // What is wrong with every item is said.
      else for await (const _ of rows);
    }
    yield* threadsOfTables(tables(), options);
  },
};

/** Where answers of APIs and exports keep their posts. */
const lists = ['data', 'messages', 'statuses', 'posts'] as const;

/** @throws BadItemError for what is neither a post nor a page of posts */
function rowsOfItem(value: unknown, place: string): TableRow[] {
  if (!isRecord(value)) throw new BadItemError({ place, value: shortened(value), reason: 'is not a post' });
  if (Array.isArray(value.posts) && typeof value.id === 'string')
    throw new BadItemError({
      place,
      value: shortened(value),
      reason: 'is a thread with its posts, which `earshot data import threads` reads',
    });
  const pages = lists.filter((name) => Array.isArray(value[name]) && !('text' in value));
  const [page] = pages.map((name) => value[name]);
  if (!Array.isArray(page)) return [{ place, value: fields(value) }];
  return page.filter(isRecord).map((post, index) => ({ place: `${place} post ${index + 1}`, value: fields(post) }));
}

/** Objects within objects that are read. */
const deepest = 8;

function fields(post: Readonly<Record<string, unknown>>): TableRow['value'] {
  return Object.fromEntries(fieldsOf(post, { prefix: '', depth: 0 }));
}

/** The values of an object by their names, those within others with dots. Parts of a list that have a type are named after it. */
function* fieldsOf(
  value: Readonly<Record<string, unknown>>,
  { prefix, depth }: { prefix: string; depth: number },
): Generator<[string, unknown]> {
  if (depth > deepest) return;
  const below = (inner: Readonly<Record<string, unknown>>, name: string) =>
    fieldsOf(inner, { prefix: name, depth: depth + 1 });
  for (const [key, own] of Object.entries(value)) {
    const name = `${prefix}${key}`;
    if (Array.isArray(own)) {
      if (own.every(isPiece)) yield [name, own];
      const types = new Set(own.map(typeOf));
      for (const [index, part] of own.entries())
        if (isRecord(part)) yield* below(part, `${name}.${types.size === own.length ? typeOf(part) : index}.`);
    } else if (isRecord(own)) yield* below(own, `${name}.`);
    else yield [name, own];
  }
}

/** Of a text that is a list of its pieces. */
function isPiece(part: unknown): boolean {
  return typeof part === 'string' || (isRecord(part) && typeof part.text === 'string');
}

function typeOf(part: unknown): unknown {
  return isRecord(part) && typeof part.type === 'string' ? part.type : null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
