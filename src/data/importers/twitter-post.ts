import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import type { Post } from '../thread.ts';
import { readTime } from './read-time.ts';

const tweetSchema = z
  .object({
    text: z.string().optional(),
    full_text: z.string().optional(),
    created_at: z.string().optional(),
    in_reply_to_status_id_str: z.string().nullish(),
    user: z.object({ screen_name: z.string().optional(), id_str: z.string().optional() }).nullish(),
  })
  .refine(({ text, full_text }) => text !== undefined || full_text !== undefined, {
    path: ['text'],
    error: 'a tweet needs text or full_text',
  });

/**
 * A tweet from version 1.1 of Twitter's API. The id comes from the file's name, where it has lost no digits.
 * @throws BadItemError for anything else
 */
export function twitterPost(input: { value: unknown; place: string; id: string }): Post {
  const tweet = parseItem(tweetSchema, input);
  return {
    id: input.id,
    time: createdTime(tweet.created_at) ?? snowflakeTime(input.id),
    author: tweet.user?.screen_name ?? tweet.user?.id_str ?? null,
    parent: tweet.in_reply_to_status_id_str ?? null,
    text: tweet.full_text ?? tweet.text ?? '',
    stance: null,
  };
}

/** Reads `Sat Aug 09 22:33:06 +0000 2014`; null for an invalid time. */
export function createdTime(created: string | undefined): string | null {
  const read = readTime(created ?? '', { dateOrder: null });
  return typeof read === 'string' ? null : read.time;
}

/** Until 4 November 2010 Twitter's ids were consecutive numbers; from this one on they contain their time. */
const firstSnowflake = 29_700_859_247n;
const twitterEpochMs = 1_288_834_974_657n;

/**
 * The time of a tweet from its id, whose bits from 22 up are milliseconds since Twitter's epoch.
 * @returns ISO 8601; null for an id without a time
 */
export function snowflakeTime(id: string): string | null {
  if (!/^\d{11,19}$/.test(id)) return null;
  const number = BigInt(id);
  if (number < firstSnowflake) return null;
  return new Date(Number((number >> 22n) + twitterEpochMs)).toISOString();
}
