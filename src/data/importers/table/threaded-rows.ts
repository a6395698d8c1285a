import { isDeepStrictEqual } from 'node:util';
import { badItem, orSkip } from '../../bad-item.ts';
import { groupBy } from '../../group-by.ts';
import type { ImportContext } from '../importer.ts';
import type { KeptRows, RowOfPost } from './kept-rows.ts';

/**
 * The rows of each thread by its id, each post once, in the order in which threads begin. An export that ran twice, or
 * whose parts overlap, has exact copies.
 * @throws InputError for two different rows of one post, if bad items are not skipped
 */
export function* threadedRows(rows: KeptRows, options: ImportContext): Generator<[string, readonly RowOfPost[]]> {
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
  const byId = new Map(links.map((link) => [link.id, link]));
  return (place) => {
    const visited = new Set<(typeof links)[number]>();
    for (let at = links[place]; ; ) {
      visited.add(at);
      const { threadId, id, parent } = at;
      if (threadId !== null) return threadId;
      if (parent === null || parent === id) return id ?? '';
      const next = byId.get(parent);
      // The parent is not in the tables, or the chain is a circle.
      if (next === undefined || visited.has(next)) return parent;
      at = next;
    }
  };
}
