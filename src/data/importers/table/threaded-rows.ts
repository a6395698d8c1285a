import { isDeepStrictEqual } from 'node:util';
import { InputError } from '../../../errors.ts';
import { badItem, orSkipNow } from '../../bad-item.ts';
import type { Post } from '../../thread.ts';
import type { ImportContext } from '../importer.ts';
import type { KeptRows, RowOfPost } from './kept-rows.ts';

/** A row as a post of a thread; its id is null if the table names none. */
export type RowOfThread = Pick<RowOfPost, 'place' | 'labels'> & {
  readonly post: Omit<Post, 'id'> & { id: string | null };
};

/**
 * The rows of each thread by its id, each post once, in the order in which threads begin. An export that ran twice, or
 * whose parts overlap, has exact copies.
 * @throws InputError for two different rows of one post, if bad items are not skipped
 */
export function* threadedRows(rows: KeptRows, options: ImportContext): Generator<[string, readonly RowOfThread[]]> {
  const rootOf = rows.shared.every(({ threadId }) => threadId !== null) ? () => '' : rootsOf(rows);
  const threads = new Map<string, number[]>();
  for (const [place, { threadId }] of rows.shared.entries()) {
    const id = threadId ?? rootOf(place);
    const places = threads.get(id);
    if (places === undefined) threads.set(id, [place]);
    else places.push(place);
  }
  for (const [id, places] of threads) {
    threads.delete(id);
    const posts = differentPosts(places.map(rows.get), options);
    if (posts.length > 0) yield [id, posts];
  }
}

function differentPosts(rows: readonly RowOfPost[], options: ImportContext): RowOfThread[] {
  const first = new Map<string, RowOfPost>();
  const posts: RowOfThread[] = [];
  for (const row of rows)
    orSkipNow(options, () => {
      const key = keyOf(row);
      const earlier = key === null ? undefined : first.get(key);
      if (earlier !== undefined && isCopy(row, earlier)) {
        options.count('# rows are exact copies of earlier ones and were left out');
        return;
      }
      if (earlier !== undefined)
        throw badItem(row.post.text, {
          place: row.place,
          reason: `has the id ${JSON.stringify(row.postId)} of ${earlier.place} and differs from it; each post of a thread has one row`,
        });
      if (key !== null) first.set(key, row);
      if (row.threadId === null)
        options.count(
          '# posts name no thread: they are in that of the post they answer, or begin one of their own where they answer none',
        );
      posts.push({ place: row.place, labels: row.labels, post: { id: row.postId, ...row.post } });
    });
  return posts;
}

/** The identity of a post in its thread; null if equal rows may be two posts. */
function keyOf({ postId, post }: RowOfPost): string | null {
  if (postId !== null) return `id ${postId}`;
  return post.time === null ? null : JSON.stringify(post);
}

function isCopy(row: RowOfPost, first: RowOfPost): boolean {
  return isDeepStrictEqual([row.post, row.labels], [first.post, first.labels]);
}

/** The thread of a post that names none: that of the first post in its chain of parents. */
function rootsOf(rows: KeptRows): (place: number) => string {
  const links = rows.shared.map(({ threadId }, place) => {
    const { postId, post } = rows.get(place);
    return { threadId, postId, parent: post.parent };
  });
  const byId = new Map(links.map((link) => [link.postId, link]));
  return (place) => {
    const visited = new Set<(typeof links)[number]>();
    for (let at = links[place]; ; ) {
      visited.add(at);
      const { threadId, postId, parent } = at;
      if (threadId !== null) return threadId;
      const answered = parent === null || parent === postId ? null : parent;
      if (answered === null) return postId ?? '';
      const next = byId.get(answered);
      // The parent is not in the tables, or the chain is a circle.
      if (next === undefined || visited.has(next)) return answered;
      at = next;
    }
  };
}

/** Digits of a number that spreadsheets keep, and that programs show. */
const keptDigits = [15, 16, 17];

/** Zeros in total that cannot be chance. */
const leastZeros = 6;

/** Detects ids that lost their last digits to a program that took them for numbers: all long ones end in zeros. */
export function roundedIds({ source, column }: { source: string; column: string | undefined }) {
  let possible: readonly number[] = keptDigits;
  const long = new Set<string>();
  return {
    add(id: string | null): void {
      if (possible.length === 0 || id === null || id.length <= keptDigits[0] || !/^\d+$/.test(id)) return;
      long.add(id);
      possible = possible.filter((digits) => /^0*$/.test(id.slice(digits)));
      if (possible.length === 0) long.clear();
    },
    /** @throws InputError for such ids */
    refuse(): void {
      const zerosBehind = (from: number) => [...long].reduce((sum, { length }) => sum + Math.max(0, length - from), 0);
      if (!possible.some((digits) => zerosBehind(digits) >= leastZeros)) return;
      const [first] = long;
      throw new InputError(
        `${source}, column ${JSON.stringify(column)}: the last digits of the ids are gone, for every long one ends in zeros, such as ${first}. A spreadsheet or a program has read them as numbers; export them again as text`,
      );
    },
  };
}
