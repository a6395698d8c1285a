import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import { type Thread, threadSchema } from '../thread.ts';

/** Unix seconds as ISO 8601, within the years that it writes with four digits. */
export const unixTime = z
  .number()
  .refine((seconds) => seconds >= -62_135_596_800 && seconds < 253_402_300_800, {
    error: 'must be Unix seconds of the years 1 to 9999',
  })
  .transform((seconds) => new Date(seconds * 1000).toISOString());

/**
 * Makes a thread from a source's fields: the replies in time order, everything validated.
 * @param place the thread's place in the source, for errors
 * @throws BadItemError for an invalid thread
 */
export function assembleThread(thread: z.input<typeof threadSchema>, place: string): Thread {
  return parseItem(threadSchema, { value: { ...thread, posts: sortReplies(thread.posts) }, place });
}

/** The claim first, then the replies by time. A reply of unknown time stays after its predecessor. */
export function sortReplies<P extends { time?: string | null | undefined }>(posts: readonly P[]): P[] {
  const [claim, ...replies] = posts;
  if (claim === undefined) return [];
  let lastKnownMs = Number.NEGATIVE_INFINITY;
  const timed = replies.map((post) => {
    const ms = Date.parse(post.time ?? '');
    if (!Number.isNaN(ms)) lastKnownMs = ms;
    return { post, ms: lastKnownMs };
  });
  // Compared, not subtracted: −∞ − −∞ is not a number.
  timed.sort((a, b) => Number(a.ms > b.ms) - Number(a.ms < b.ms));
  return [claim, ...timed.map(({ post }) => post)];
}

/**
 * The claim, then the other posts. The post that the thread is named after is the claim; otherwise the earliest without
 * a parent, or else the earliest.
 */
export function claimFirst<P extends { id: string | null; parent: string | null; time: string | null }>(
  threadId: string,
  posts: readonly P[],
): P[] {
  const roots = posts.filter(({ id, parent }) => parent === null || parent === id);
  const msOf = ({ time }: P) => Date.parse(time ?? '9999-12-31T23:59:59.999Z');
  const claim =
    posts.find(({ id }) => id === threadId) ??
    (roots.length > 0 ? roots : posts).reduce((first, post) => (msOf(post) < msOf(first) ? post : first));
  return [claim, ...posts.filter((post) => post !== claim)];
}
