import { isDeepStrictEqual } from 'node:util';
import { InputError } from '../../../errors.ts';
import { BadItemError, orSkip, type SkipOptions, shortened } from '../../bad-item.ts';
import type { Post, Thread } from '../../thread.ts';
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

/** A row as a post of a thread. */
export type RowOfThread = Pick<RowOfPost, 'place' | 'labels'> & { readonly post: Post };

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
    [columns.postId, rows.map(({ postId }) => postId)],
    [columns.threadId, rows.map(({ threadId }) => threadId)],
  ] as const;
  for (const [column, ids] of columnsOfIds) {
    const different = new Set(ids.filter((id) => id !== null));
    if (!areRounded(different)) continue;
    const [example] = [...different].filter((id) => id.length > keptDigits[0]);
    throw new InputError(
      `${source}, column ${JSON.stringify(column)}: the last digits of the ids are gone, for every long one ends in zeros, such as ${example}. A spreadsheet or a program has read them as numbers; export them again as text`,
    );
  }
}

function areRounded(ids: ReadonlySet<string>): boolean {
  return keptDigits.some((kept) => {
    const long = [...ids].filter((id) => /^\d+$/.test(id) && id.length > kept);
    const zeros = long.reduce((sum, { length }) => sum + length - kept, 0);
    return zeros >= leastZeros && long.every((id) => /^0+$/.test(id.slice(kept)));
  });
}
