import { z } from 'zod';
import { InputError } from '../errors.ts';

const timestamp = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date and time, such as 2014-08-09T22:33:06Z' })
  .nullable()
  .default(null)
  .describe('when it was posted, ISO 8601; null where unknown');

export const postSchema = z.object({
  id: z.string().min(1),
  time: timestamp,
  author: z.string().nullable().default(null),
  parent: z
    .string()
    .nullable()
    .default(null)
    .describe('id of the post it answers; null for the claim or where unknown'),
  text: z.string(),
  stance: z.enum(['support', 'deny', 'query', 'comment']).nullable().default(null).describe('towards the claim'),
});

/** A thread as it stands on one line of a `threads.jsonl` file and in memory. */
export const threadSchema = z
  .object({
    id: z.string().min(1),
    event: z.string().nullable().default(null),
    veracity: z.enum(['true', 'false', 'unverified', 'non-rumor']).nullable().default(null),
    rumor: z.boolean().nullable().default(null),
    split: z.string().optional().describe('the official part of the data set, where it has parts'),
    labels: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    posts: z.array(postSchema).min(1, 'a thread needs at least one post, the claim'),
  })
  .superRefine((thread, context) => {
    const seen = new Map<string, number>();
    for (const [index, post] of thread.posts.entries()) {
      const first = seen.get(post.id);
      if (first !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['posts', index, 'id'],
          message: `repeats the id ${JSON.stringify(post.id)} of posts.${first}; ids are unique within a thread`,
        });
      seen.set(post.id, index);
    }
    const late = firstPostOutOfOrder(thread.posts);
    if (late !== null)
      context.addIssue({
        code: 'custom',
        path: ['posts', late.index, 'time'],
        message: `${late.time} is earlier than ${late.previous} before it; replies must be in time order (\`earshot data import threads\` sorts them)`,
      });
  });

export type Post = z.infer<typeof postSchema>;
export type Thread = z.infer<typeof threadSchema>;

/** The claim may be younger than a reply (a quoted or re-created source); replies among themselves may not. */
function firstPostOutOfOrder(posts: readonly Post[]): { index: number; time: string; previous: string } | null {
  let previous: string | null = null;
  for (let index = 1; index < posts.length; index++) {
    const { time } = posts[index];
    if (time === null) continue;
    if (previous !== null && Date.parse(time) < Date.parse(previous)) return { index, time, previous };
    previous = time;
  }
  return null;
}

/** Hours from the claim to post `index`, never negative; null where either time is unknown. */
export function hoursSinceClaim(thread: Thread, index: number): number | null {
  const start = thread.posts[0].time;
  const now = thread.posts[index].time;
  if (start === null || now === null) return null;
  return Math.max(0, (Date.parse(now) - Date.parse(start)) / 3_600_000);
}

/** The beginning of a thread: all that a detector or a stop agent may see at one time. */
export interface Prefix {
  readonly threadId: string;
  readonly posts: readonly Post[];
}

/** The first `length` posts of a thread, 1 ≤ `length` ≤ number of posts. */
export function prefixOf(thread: Thread, length: number): Prefix {
  if (length < 1 || length > thread.posts.length)
    throw new InputError(`thread ${thread.id} has ${thread.posts.length} posts; a prefix of ${length} cannot be taken`);
  return { threadId: thread.id, posts: thread.posts.slice(0, length) };
}
