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

/** The post with the earliest time, or the first post without times: the claim among several candidates. */
export function earliest<Item>(items: readonly Item[], timeOf: (item: Item) => string | null): Item {
  const msOf = (item: Item) => Date.parse(timeOf(item) ?? '9999-12-31T23:59:59.999Z');
  return items.reduce((first, item) => (msOf(item) < msOf(first) ? item : first));
}
