import type { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import { sortReplies } from '../sort-replies.ts';
import { type Thread, threadSchema } from '../thread.ts';

/** Puts a thread together from a source's own fields: replies sorted, everything checked against the schema. */
export function assembleThread(thread: z.input<typeof threadSchema>, place: string): Thread {
  return parseItem(threadSchema, { value: { ...thread, posts: sortReplies(thread.posts) }, place });
}
