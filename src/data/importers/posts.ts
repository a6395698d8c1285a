import { BadItemError, shortened } from '../bad-item.ts';
import { itemsOfJson } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import type { TableRow } from './table/cells.ts';
import { type PostTable, threadsOfTables } from './table/threads-of-tables.ts';

/** Posts as JSON, each with the names of its conversation and of what it answers. */
export const postsImporter: Importer = {
  name: 'posts',
  description:
    'a JSON object for each post, from twarc, the APIs of X, Bluesky, Mastodon and Reddit, or Telegram; nested names have dots (user.screen_name)',
  expects: 'one or more files of JSON Lines, plain or gzip, or of a JSON list of posts',
  takes: ['table', 'encoding', 'nulls'],
  async *read(paths, options) {
    // A name may stand in a few posts only, and not in the first ones, so all are looked at before any is read.
    const headings = new Set<string>();
    const silent = { ...options, skipInvalid: true, onSkipped: undefined, count: () => {} };
    for await (const rows of rowsOf(silent))
      for (const { value } of rows) for (const name of Object.keys(value)) headings.add(name);
    async function* rowsOf(reading: ImportContext): AsyncGenerator<readonly TableRow[]> {
      for (const path of paths)
        yield* itemsOfJson(path, reading, (value, place) =>
          postsOf(value, { place, reading }).map(({ post, place }) => ({ place, value: fields(post) })),
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

interface PlacedPost {
  readonly post: JsonObject;
  readonly place: string;
}

/** Where answers of APIs and exports keep their posts; the two parts of a context of Mastodon are both read. */
const lists = ['data', 'messages', 'statuses', 'posts', 'ancestors', 'descendants'] as const;

/** What answers of the API of X hold beside posts, and instead of them where there are none. */
const besidePosts: ReadonlySet<string> = new Set([
  ...['errors', 'meta', 'includes', '__twarc', 'title', 'detail', 'type', 'status'],
]);

/** @throws BadItemError for what is neither a post nor a page of posts */
function postsOf(value: unknown, { place, reading }: { place: string; reading: ImportContext }): PlacedPost[] {
  if (!isRecord(value)) throw new BadItemError({ place, value: shortened(value), reason: 'is not a post' });
  if (Array.isArray(value.posts) && typeof value.id === 'string')
    throw new BadItemError({
      place,
      value: shortened(value),
      reason: 'is a thread with its posts, which `earshot data import threads` reads',
    });
  if (value.kind === 'Listing' && isRecord(value.data)) return thingsOf(value.data, { place, reading });
  const names = Object.keys(value);
  if (('errors' in value || 'meta' in value) && names.every((name) => besidePosts.has(name))) {
    reading.count('# pages hold no posts');
    return [];
  }
  const pages = 'text' in value ? [] : lists.flatMap((name) => (Array.isArray(value[name]) ? [value[name]] : []));
  if (pages.length === 0) return [{ post: value, place }];
  const posts: unknown[] = pages.flat();
  return posts.filter(isRecord).map((post, index) => ({ post, place: `${place} post ${index + 1}` }));
}

/** Submissions and comments of a listing of Reddit's API, whose comments hold listings of their replies. */
function thingsOf(
  { children }: JsonObject,
  { place, reading }: { place: string; reading: ImportContext },
): PlacedPost[] {
  if (!Array.isArray(children)) return [];
  return children.flatMap((child: unknown, index) => {
    if (!isRecord(child) || !isRecord(child.data)) return [];
    const { replies, ...post } = child.data;
    if (child.kind === 'more') {
      reading.count('# comments are stubs that name replies which the export lacks');
      return [];
    }
    const own = `${place} thing ${index + 1}`;
    const below = isRecord(replies) && isRecord(replies.data) ? thingsOf(replies.data, { place: own, reading }) : [];
    return [{ post, place: own }, ...below];
  });
}

/** Objects within objects that are read. */
const deepest = 8;

function fields(post: JsonObject): TableRow['value'] {
  return Object.fromEntries(fieldsOf(post, { prefix: '', depth: 0 }));
}

/** The values of an object by their names, those within others with dots. Parts of a list that have a type are named after it. */
function* fieldsOf(
  value: JsonObject,
  { prefix, depth }: { prefix: string; depth: number },
): Generator<[string, unknown]> {
  if (depth > deepest) return;
  const below = (inner: JsonObject, name: string) => fieldsOf(inner, { prefix: name, depth: depth + 1 });
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

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
