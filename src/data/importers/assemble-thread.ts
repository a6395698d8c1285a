import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import { type Thread, threadSchema } from '../thread.ts';

/** A source's time in seconds since 1970, within the years that ISO 8601 writes with four digits. */
export const unixSeconds = z.number().refine((seconds) => seconds >= -62_135_596_800 && seconds < 253_402_300_800, {
  error: 'must be Unix seconds of the years 1 to 9999',
});

/**
 * Puts a thread together from a source's own fields: the replies in time order, everything checked against the schema.
 * @param place where the thread stands in the source, for errors
 * @throws BadItemError where something is wrong with the thread
 */
export function assembleThread(thread: z.input<typeof threadSchema>, place: string): Thread {
  return parseItem(threadSchema, { value: { ...thread, posts: sortReplies(thread.posts) }, place });
}

/**
 * The claim first, then the replies by time. Equal times keep their order, and a reply of unknown time stays behind the
 * one it stood behind.
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
  // Compared, not subtracted: −∞ − −∞ is not a number.
  timed.sort((a, b) => Number(a.ms > b.ms) - Number(a.ms < b.ms));
  return [claim, ...timed.map(({ post }) => post)];
}

/** The post with the earliest time, or the first where none has one: the claim among several that may be it. */
export function earliest<Item>(items: readonly Item[], timeOf: (item: Item) => string | null): Item {
  return items.reduce((first, item) => {
    const [known, time] = [timeOf(first), timeOf(item)];
    return time !== null && (known === null || Date.parse(time) < Date.parse(known)) ? item : first;
  });
}
