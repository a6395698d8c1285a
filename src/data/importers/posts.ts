import { badItem } from '../bad-item.ts';
import { itemsOfJson } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import type { TableRow } from './table/cells.ts';
import { type PostTable, threadsOfTables } from './table/threads-of-tables.ts';

/** Posts as JSON, each with the ids of its conversation and its parent. */
export const postsImporter: Importer = {
  name: 'posts',
  description:
    'a JSON object for each post, from twarc, the APIs of X, Bluesky, Mastodon and Reddit, or Telegram; nested names have dots (user.screen_name)',
  expects: 'one or more files of JSON Lines, plain or gzip, or of a JSON list of posts',
  takes: ['table', 'encoding', 'nulls'],
  async *read(paths, options) {
    // A name may occur in a few later posts only, so all are inspected before any is read.
    const headings = new Set<string>();
    const silent = { ...options, skipInvalid: true, onSkipped: undefined, count: () => {} };
    for await (const rows of rowsOf(silent))
      for (const { value } of rows) for (const name of Object.keys(value)) headings.add(name);
    async function* rowsOf(reading: ImportContext): AsyncGenerator<readonly TableRow[]> {
      for (const path of paths)
        yield* itemsOfJson(path, reading, (value, place) =>
          postsOf(value, { place, reading }).map((post) => ({
            ...post,
            value: Object.fromEntries(fieldsOf(post.value, { prefix: '', depth: 0 })),
          })),
        );
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

type JsonObject = Readonly<Record<string, unknown>>;

/** Fields with posts in answers of APIs and exports. Both parts of a context of Mastodon are read. */
const lists = ['data', 'messages', 'statuses', 'posts', 'ancestors', 'descendants'] as const;

/** Fields of X's API besides posts, and without posts in place of them. */
const besidePosts: ReadonlySet<string> = new Set([
  ...['errors', 'meta', 'includes', '__twarc', 'title', 'detail', 'type', 'status'],
]);

/** @throws BadItemError for a value that is neither a post nor a page of posts */
function postsOf(value: unknown, { place, reading }: { place: string; reading: ImportContext }): TableRow[] {
  if (!isRecord(value)) throw badItem(value, { place, reason: 'is not a post' });
  if (Array.isArray(value.posts) && typeof value.id === 'string')
    throw badItem(value, { place, reason: 'is a thread with its posts, which `earshot data import threads` reads' });
  if (value.kind === 'Listing' && isRecord(value.data)) return thingsOf(value.data, { place, reading });
  const names = Object.keys(value);
  if (('errors' in value || 'meta' in value) && names.every((name) => besidePosts.has(name))) {
    reading.count('# pages hold no posts');
    return [];
  }
  const pages = 'text' in value ? [] : lists.flatMap((name) => (Array.isArray(value[name]) ? [value[name]] : []));
  if (pages.length === 0) return [{ place, value }];
  const posts: unknown[] = pages.flat();
  return posts.filter(isRecord).map((post, index) => ({ place: `${place} post ${index + 1}`, value: post }));
}

/** Submissions and comments of a listing of Reddit's API, whose comments contain listings of their replies. */
function thingsOf(listing: JsonObject, { place, reading }: { place: string; reading: ImportContext }): TableRow[] {
  const rows: TableRow[] = [];
  // A stack instead of calls: replies may be nested more deeply than calls may.
  const open = childrenOf(listing, place);
  for (let thing = open.pop(); thing !== undefined; thing = open.pop()) {
    const { child, place } = thing;
    if (!isRecord(child) || !isRecord(child.data)) continue;
    const { replies, ...value } = child.data;
    if (child.kind === 'more') {
      reading.count('# comments are stubs that name replies which the export lacks');
      continue;
    }
    rows.push({ place, value });
    if (isRecord(replies) && isRecord(replies.data)) open.push(...childrenOf(replies.data, place));
  }
  return rows;
}

/** The last child first. */
function childrenOf({ children }: JsonObject, place: string): { readonly child: unknown; readonly place: string }[] {
  const list: unknown[] = Array.isArray(children) ? children : [];
  return list.map((child, index) => ({ child, place: `${place} thing ${index + 1}` })).reverse();
}

/** The depth of nested objects that is read. */
const deepest = 8;

/** The values of an object by name, with dots for nested ones. Parts of a list that have a type are named after it. */
function* fieldsOf(
  value: JsonObject,
  { prefix, depth }: { prefix: string; depth: number },
): Generator<[string, unknown]> {
  if (depth > deepest) return;
  const below = (inner: JsonObject, name: string) => fieldsOf(inner, { prefix: name, depth: depth + 1 });
  for (const [key, content] of Object.entries(value)) {
    const name = `${prefix}${key}`;
    if (Array.isArray(content)) {
      if (content.every(isPiece)) yield [name, content];
      const types = new Set(content.map(typeOf));
      const areTyped = types.size === content.length && !types.has(null);
      for (const [index, part] of content.entries())
        if (isRecord(part)) yield* below(part, `${name}.${areTyped ? typeOf(part) : index}.`);
    } else if (isRecord(content)) yield* below(content, `${name}.`);
    else yield [name, content];
  }
}

/** A piece of a text that is a list of pieces. */
function isPiece(part: unknown): boolean {
  return typeof part === 'string' || (isRecord(part) && typeof part.text === 'string');
}

function typeOf(part: unknown): unknown {
  return isRecord(part) && typeof part.type === 'string' ? part.type : null;
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
