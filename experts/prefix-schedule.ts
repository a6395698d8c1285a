import { z } from 'zod';

export const prefixScheduleSchema = z
  .discriminatedUnion('name', [
    z.strictObject({ name: z.literal('every').describe('every prefix') }),
    z.strictObject({
      name: z.literal('step').describe('1 post, then every n-th'),
      posts: z.int().min(1).describe('posts from one judged prefix to the next'),
    }),
    z.strictObject({
      name: z.literal('geometric').describe('1 post, then longer by a factor each time'),
      factor: z.number().gt(1).default(1.5).describe("ratio of a judged prefix's length to the previous one's"),
    }),
    z.strictObject({
      name: z.literal('lengths').describe('prefixes of exactly these lengths'),
      lengths: z
        .array(z.int().min(1))
        .min(1)
        .describe('numbers of posts, including the claim; a shorter thread is judged whole'),
    }),
  ])
  .default({ name: 'every' })
  .describe('which prefixes are judged; a judgement holds until the next judged one');

export type PrefixSchedule = z.infer<typeof prefixScheduleSchema>;

/**
 * The lengths of a thread's prefixes that are judged, increasing. They include 1 and all `posts`, unless the schedule
 * lists the lengths itself.
 */
export function scheduledLengths(options: { schedule: PrefixSchedule; posts: number }): number[] {
  const { schedule, posts } = options;
  if (schedule.name === 'lengths')
    return [...new Set(schedule.lengths.map((length) => Math.min(length, posts)))].sort((left, right) => left - right);
  const lengths: number[] = [];
  for (let length = 1; length < posts; length = next(schedule, length)) lengths.push(length);
  return [...lengths, posts];
}

function next(schedule: Exclude<PrefixSchedule, { name: 'lengths' }>, length: number): number {
  if (schedule.name === 'every') return length + 1;
  // Steps of 5 read 1, 5, 10, 15, …: the numbers people expect of "every fifth post".
  if (schedule.name === 'step') return (Math.floor(length / schedule.posts) + 1) * schedule.posts;
  return Math.max(length + 1, Math.round(length * schedule.factor));
}
