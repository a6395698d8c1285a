import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import type { Post } from '../thread.ts';
import { unixSeconds } from './assemble-thread.ts';

const thingSchema = z.object({
  title: z.string().optional(),
  selftext: z.string().optional(),
  body: z.string().optional(),
  created_utc: unixSeconds.optional(),
  author: z.string().nullish(),
  parent_id: z.string().nullish(),
});

const wrappedSchema = z.union([
  z.object({ data: z.object({ children: z.array(z.object({ data: thingSchema })).min(1) }) }),
  z.object({ data: thingSchema }),
]);

/**
 * A submission or comment as Reddit's API returned it; null for a stub without any text.
 * @throws BadItemError for anything else
 */
export function redditPost(input: { value: unknown; place: string; id: string }): Post | null {
  const { data } = parseItem(wrappedSchema, input);
  const thing = 'children' in data ? data.children[0].data : data;
  const text = [thing.title, thing.selftext, thing.body].filter(Boolean).join('\n');
  if (text === '') return null;
  return {
    id: input.id,
    time: thing.created_utc === undefined ? null : new Date(thing.created_utc * 1000).toISOString(),
    author: thing.author ?? null,
    // Reddit's full names, such as t1_cy6ykvm, are a kind and an id.
    parent: thing.parent_id?.replace(/^t\d_/, '') ?? null,
    text,
    stance: null,
  };
}
