import type { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import { type Thread, threadSchema } from '../thread.ts';

/** Puts a thread together from a source's own fields: replies sorted, everything checked against the schema. */
export function assembleThread(thread: z.input<typeof threadSchema>, place: string): Thread {
  return parseItem(threadSchema, { value: { ...thread, posts: sortReplies(thread.posts) }, place });
}

/**
 * The claim first, then the replies by time. Equal times keep their order, and a reply of unknown time stays
 * behind the one it stood behind.
 */
export function sortReplies<P extends { time?: string | null | undefined }>(posts: readonly P[]): P[] {
  const [claim, ...replies] = posts;
  if (claim === undefined) return [];
  let lastKnownMs = Number.NEGATIVE_INFINITY;
  const timed = replies.map((post) => {
    const ms = post.time === null || post.time === undefined ? Number.NaN : Date.parse(post.time);
    if (!Number.isNaN(ms)) lastKnownMs = ms;
    return { post, ms: lastKnownMs };
  });
  // Not a difference: −∞ − −∞ is not a number.
  timed.sort((a, b) => Number(a.ms > b.ms) - Number(a.ms < b.ms));
  return [claim, ...timed.map(({ post }) => post)];
}
