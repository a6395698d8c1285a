import { isDeepStrictEqual } from 'node:util';
import { badItem, orSkip } from '../../bad-item.ts';
import { groupBy } from '../../group-by.ts';
import type { Post, Thread } from '../../thread.ts';
import type { ImportContext } from '../importer.ts';

/** The post and labels of a row. */
export interface RowOfPost {
  readonly place: string;
  /** Null if the row names no thread, which its parent may determine. */
  readonly threadId: string | null;
  /** The id is null if the table names none. */
  readonly post: Omit<Post, 'id'> & { readonly id: string | null };
  readonly labels: Pick<Thread, 'rumor' | 'veracity' | 'event' | 'split'> & {
    /** A further label, and its column. */
    readonly label: string | null;
    readonly column: string | null;
  };
}

/** Values that rows of a thread share. */
type SharedColumns = Pick<RowOfPost, 'threadId' | 'labels'> & { readonly source: string };

/** In place of a parent, programs write these for none. */
const noParent = new Set(['0', '-1', 'false', 'root', 'none', 'null', 'nan']);

const chunkBytes = 1 << 24;
const lineBreak = 10;

/**
 * Stores rows as lines of JSON outside the heap: a million rows as objects take several times the memory of their
 * texts, and slow down garbage collection. Values that a row shares with the previous one are stored once.
 */
export function keptRows() {
  const shared: SharedColumns[] = [];
  const starts: number[] = [];
  const chunks: Buffer[] = [];
  let chunk = Buffer.alloc(0);
  let end = 0;
  let last: { key: string; shared: SharedColumns } | null = null;
  const named = new Set<string | null>();
  const answered = new Map<string, number>();
  const isNone = (id: string | null) => id !== null && noParent.has(id.toLowerCase());
  return {
    shared,
    /** Words that were read as no parent, because no post and no thread has them as its id, with their number. */
    wordsForNone: () => [...answered].filter(([word]) => !named.has(word)),
    add({ place, threadId, post, labels }: RowOfPost, source: string): void {
      const sharedColumns = { threadId, labels, source };
      const key = JSON.stringify(sharedColumns);
      if (last?.key !== key) last = { key, shared: sharedColumns };
      shared.push(last.shared);
      const isNear = place.startsWith(source);
      const { id, time, author, parent, text, stance } = post;
      for (const name of [id, threadId]) if (isNone(name)) named.add(name);
      if (parent !== null && isNone(parent)) answered.set(parent, (answered.get(parent) ?? 0) + 1);
      const values = [isNear, isNear ? place.slice(source.length) : place, id, time, author, parent, text, stance];
      const line = `${JSON.stringify(values)}\n`;
      // UTF-8 has up to three bytes for each of JavaScript's characters.
      if (end + 3 * line.length > chunk.length) {
        chunk = Buffer.allocUnsafe(Math.max(chunkBytes, 3 * line.length));
        chunks.push(chunk);
        end = 0;
      }
      starts.push((chunks.length - 1) * chunkBytes + end);
      const written = chunk.write(line, end);
      // A row that is longer than a chunk gets its own.
      end = chunk.length > chunkBytes ? chunk.length : end + written;
    },
    get(place: number): RowOfPost {
      const from = chunks[Math.floor(starts[place] / chunkBytes)];
      const start = starts[place] % chunkBytes;
      const line = from.toString('utf8', start, from.indexOf(lineBreak, start));
      const [isNear, near, id, time, author, written, text, stance] = JSON.parse(line);
      const { threadId, labels, source } = shared[place];
      const parent = isNone(written) && !named.has(written) ? null : written;
      const post = { id, time, author, parent, text, stance };
      return { place: isNear ? `${source}${near}` : near, threadId, post, labels };
    },
  };
}

export type KeptRows = ReturnType<typeof keptRows>;

/**
 * The rows of each thread by its id, each post once, in the order in which threads begin. An export that ran twice, or
 * whose parts overlap, has exact copies.
 * @throws InputError for two different rows of one post, if bad items are not skipped
 */
export function* threadedRows(rows: KeptRows, options: ImportContext): Generator<[string, readonly RowOfPost[]]> {
  for (const [word, posts] of rows.wordsForNone())
    options.count(`# posts answer ${JSON.stringify(word)}, which is no post: they answer none`, posts);
  const rootOf = rows.shared.every(({ threadId }) => threadId !== null) ? () => '' : rootsOf(rows);
  const threads = groupBy(rows.shared.keys(), (place) => rows.shared[place].threadId ?? rootOf(place));
  for (const [id, places] of threads) {
    threads.delete(id);
    const posts = differentPosts(places.map(rows.get), options);
    if (posts.length > 0) yield [id, posts];
  }
}

function differentPosts(rows: readonly RowOfPost[], options: ImportContext): readonly RowOfPost[] {
  const first = new Map<string, RowOfPost>();
  const isNew = (row: RowOfPost): boolean => {
    const key = keyOf(row);
    const earlier = first.get(key ?? '');
    if (earlier !== undefined && isDeepStrictEqual([row.post, row.labels], [earlier.post, earlier.labels])) {
      options.count('# rows are exact copies of earlier ones and were left out');
      return false;
    }
    if (earlier !== undefined)
      throw badItem(row.post.text, {
        place: row.place,
        reason: `has the id ${JSON.stringify(row.post.id)} of ${earlier.place} and differs from it; each post of a thread has one row`,
      });
    if (key !== null) first.set(key, row);
    if (row.threadId === null)
      options.count(
        '# posts name no thread: they are in that of the post they answer, or begin one of their own where they answer none',
      );
    return true;
  };
  return rows.filter((row) => orSkip(options, () => isNew(row)));
}

/** The identity of a post in its thread; null if equal rows may be two posts. */
function keyOf({ post }: RowOfPost): string | null {
  if (post.id !== null) return `id ${post.id}`;
  return post.time === null ? null : JSON.stringify(post);
}

/** The thread of a post that names none: that of the first post in its chain of parents. */
function rootsOf(rows: KeptRows): (place: number) => string {
  const links = rows.shared.map(({ threadId }, place) => {
    const { id, parent } = rows.get(place).post;
    return { threadId, id, parent };
  });
  const placeOf = new Map(links.map(({ id }, place) => [id, place]));
  const roots = new Map<number, string>();
  return (start) => {
    const chain = new Set<number>();
    let root: string | undefined;
    for (let place = start; root === undefined; ) {
      chain.add(place);
      const { threadId, id, parent } = links[place];
      const next = parent === null ? undefined : placeOf.get(parent);
      if (roots.has(place)) root = roots.get(place);
      else if (threadId !== null) root = threadId;
      else if (parent === null || parent === id) root = id ?? '';
      // The parent is not in the tables.
      else if (next === undefined) root = parent;
      else if (chain.has(next)) {
        // A circle begins with its first post in the file.
        const circle = [...chain].slice([...chain].indexOf(next));
        root = links[circle.reduce((least, other) => Math.min(least, other))].id ?? '';
      } else place = next;
    }
    for (const place of chain) roots.set(place, root);
    return root;
  };
}
