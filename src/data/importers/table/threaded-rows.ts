import { isDeepStrictEqual } from 'node:util';
import { InputError } from '../../../errors.ts';
import { BadItemError, orSkipNow, shortened } from '../../bad-item.ts';
import type { Post, Thread } from '../../thread.ts';
import type { Reading } from '../importer.ts';
import type { TableColumns } from './columns.ts';

/** What a row says. */
export interface RowOfPost {
  readonly place: string;
  /** Null where the row names none, which what it answers may tell. */
  readonly threadId: string | null;
  readonly postId: string | null;
  readonly post: Omit<Post, 'id'>;
  readonly labels: Pick<Thread, 'rumor' | 'veracity' | 'event' | 'split'> & {
    /** A label of one's own, and the column that it stands in. */
    readonly label: string | null;
    readonly column: string | null;
  };
}

/** A row as a post of a thread; its id is null where the table names none. */
export type RowOfThread = Pick<RowOfPost, 'place' | 'labels'> & {
  readonly post: Omit<Post, 'id'> & { id: string | null };
};

/**
 * The rows of each thread, each post once, by the id of the thread and in the order in which threads begin. An export that ran
 * twice, or whose parts overlap, has exact copies. Takes the rows out of `rows`, so that those of a thread can go once it is read.
 * @throws InputError for two rows of one post that differ, where such items are not to be skipped
 */
export function* threadedRows(rows: RowOfPost[], options: Reading): Generator<[string, readonly RowOfThread[]]> {
  const rootOf = rows.every(({ threadId }) => threadId !== null) ? () => '' : rootsOf(rows);
  const threads = new Map<string, RowOfPost[]>();
  for (const row of rows) {
    const id = row.threadId ?? rootOf(row);
    const own = threads.get(id);
    if (own === undefined) threads.set(id, [row]);
    else own.push(row);
  }
  rows.length = 0;
  for (const [id, own] of threads) {
    threads.delete(id);
    const posts = differentPosts(own, options);
    if (posts.length > 0) yield [id, posts];
  }
}

function differentPosts(rows: readonly RowOfPost[], options: Reading): RowOfThread[] {
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
        throw new BadItemError({
          place: row.place,
          value: shortened(row.post.text),
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

/** What tells a post of a thread from another one; null where two that look alike may be two. */
function keyOf({ postId, post }: RowOfPost): string | null {
  if (postId !== null) return `id ${postId}`;
  return post.time === null ? null : JSON.stringify(post);
}

function isCopy(row: RowOfPost, first: RowOfPost): boolean {
  return isDeepStrictEqual([row.post, row.labels], [first.post, first.labels]);
}

/** The thread of a post that names none: that of the first post of the chain of what it answers. */
function rootsOf(rows: readonly RowOfPost[]): (row: RowOfPost) => string {
  const byId = new Map<string | null, RowOfPost>(rows.map((row) => [row.postId, row]));
  return (row) => {
    const seen = new Set<RowOfPost>();
    for (let at = row; ; ) {
      seen.add(at);
      const { threadId, postId, post } = at;
      if (threadId !== null) return threadId;
      const answered = post.parent === null || post.parent === postId ? null : post.parent;
      if (answered === null) return postId ?? '';
      const next = byId.get(answered);
      // What it answers is not in the tables, or answers in a circle.
      if (next === undefined || seen.has(next)) return answered;
      at = next;
    }
  };
}

/** Digits that spreadsheets keep of a number, and those that programs show of one. */
const keptDigits = [15, 16, 17];

/** Zeros that must be seen, all in all, before they are no chance. */
const leastZeros = 6;

/** @throws InputError for ids that have lost their last digits to a program that took them for numbers: all of the long ones end in zeros */
export function refuseRoundedIds(
  rows: readonly RowOfPost[],
  { source, columns }: { source: string; columns: TableColumns },
): void {
  const columnsOfIds = [
    [columns.postId, 'postId'],
    [columns.threadId, 'threadId'],
  ] as const;
  for (const [column, name] of columnsOfIds) {
    const long: string[] = [];
    for (const { [name]: id } of rows) if (id !== null && id.length > keptDigits[0] && /^\d+$/.test(id)) long.push(id);
    if (!areRounded(long)) continue;
    throw new InputError(
      `${source}, column ${JSON.stringify(column)}: the last digits of the ids are gone, for every long one ends in zeros, such as ${long[0]}. A spreadsheet or a program has read them as numbers; export them again as text`,
    );
  }
}

function areRounded(ids: readonly string[]): boolean {
  return keptDigits.some((kept) => {
    const long = ids.filter((id) => id.length > kept);
    if (!long.every((id) => /^0+$/.test(id.slice(kept)))) return false;
    let zeros = 0;
    for (const id of new Set(long)) zeros += id.length - kept;
    return zeros >= leastZeros;
  });
}
