import { isDeepStrictEqual } from 'node:util';
import { BadItemError, orSkip, type SkipOptions, shortened } from '../../bad-item.ts';
import type { RowOfPost, RowOfThread } from './row-of-post.ts';

export interface ThreadedRows {
  /** By the id of the thread, in the order in which threads begin. */
  readonly threads: ReadonlyMap<string, readonly RowOfThread[]>;
  /** Rows that are like an earlier one, and are left out. */
  readonly copies: number;
  /** Rows whose thread was found by what they answer. */
  readonly byReplies: number;
}

/**
 * The rows of each thread, each post once. An export that ran twice, or whose parts overlap, has exact copies.
 * @throws InputError for two rows of one post that differ, where such items are not to be skipped
 */
export async function threadedRows(rows: readonly RowOfPost[], options: SkipOptions): Promise<ThreadedRows> {
  const rootOf = rootsOf(rows);
  const threads = new Map<string, RowOfThread[]>();
  const firstRows = new Map<string, RowOfPost>();
  let copies = 0;
  let byReplies = 0;
  for (const row of rows)
    await orSkip(options, () => {
      const id = row.threadId ?? rootOf(row);
      const key = keyOf(id, row);
      const first = key === null ? undefined : firstRows.get(key);
      if (first !== undefined && isCopy(row, first)) {
        copies++;
        return;
      }
      if (first !== undefined)
        throw new BadItemError({
          place: row.place,
          value: shortened(row.post.text),
          reason: `has the id ${JSON.stringify(row.postId)} of ${first.place} and differs from it; each post of a thread has one row`,
        });
      if (key !== null) firstRows.set(key, row);
      if (row.threadId === null) byReplies++;
      const own = threads.get(id) ?? [];
      const post = { id: row.postId ?? (own.length === 0 ? id : `${id}-${own.length}`), ...row.post };
      own.push({ place: row.place, labels: row.labels, post });
      threads.set(id, own);
    });
  return { threads, copies, byReplies };
}

/** What tells a post of a thread from another one; null where two that look alike may be two. */
function keyOf(id: string, { postId, post }: RowOfPost): string | null {
  if (postId !== null) return JSON.stringify([id, postId]);
  return post.time === null ? null : JSON.stringify([id, null, post]);
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
