import { z } from 'zod';

/** The schedules by name, for unions that add to them. */
export const prefixSchedules = [
  z.strictObject({ name: z.literal('every').describe('every prefix') }),
  z.strictObject({
    name: z.literal('step').describe('1 post, then every n-th'),
    posts: z.int().min(1).describe('posts from one judged prefix to the next'),
  }),
  z.strictObject({
    name: z.literal('geometric').describe('some posts, then longer by a factor each time'),
    start: z.int().min(1).default(1).describe('posts of the first judged prefix'),
    factor: z.number().gt(1).default(1.5).describe("ratio of a judged prefix's length to the previous one's"),
  }),
  z.strictObject({
    name: z.literal('lengths').describe('prefixes of exactly these lengths'),
    lengths: z
      .array(z.int().min(1))
      .min(1)
      .describe('numbers of posts, including the claim; a shorter thread is judged whole'),
  }),
] as const;

export const prefixScheduleSchema = z
  .discriminatedUnion('name', prefixSchedules)
  .default({ name: 'every' })
  .describe('which prefixes are judged; a judgement holds until the next judged one');

/** The prefixes of a thread that are judged. */
export type PrefixSchedule = z.infer<typeof prefixScheduleSchema>;

/** The judged prefix lengths, increasing. They include all `posts`, unless the schedule lists the lengths itself. */
export function scheduledLengths(options: { schedule: PrefixSchedule; posts: number }): number[] {
  const { schedule, posts } = options;
  if (schedule.name === 'lengths') return increasing(schedule.lengths.map((length) => Math.min(length, posts)));
  const lengths = queriedLengths(options);
  return lengths.at(-1) === posts ? lengths : [...lengths, posts];
}

/** The lengths of a schedule up to `posts`, increasing, for a reader that does not know whether posts follow. */
export function queriedLengths({ schedule, posts }: { schedule: PrefixSchedule; posts: number }): number[] {
  if (schedule.name === 'lengths') return increasing(schedule.lengths.filter((length) => length <= posts));
  const lengths: number[] = [];
  const start = schedule.name === 'geometric' ? schedule.start : 1;
  for (let length = start; length <= posts; length = next(schedule, length)) lengths.push(length);
  return lengths;
}

/**
 * The prefix lengths queried by a reader that stops after `stop` posts: the schedule's up to there, and the stop.
 * @param when.schedule null for a query at the stop only
 * @param when.maxPosts later posts are not judged: a longer prefix has the judgement of this many posts
 */
export function lengthsUntil(
  stop: number,
  { schedule, maxPosts }: { schedule: PrefixSchedule | null; maxPosts: number },
): number[] {
  const posts = Math.min(stop, maxPosts);
  const lengths = schedule === null ? [] : queriedLengths({ schedule, posts });
  return lengths.at(-1) === posts ? lengths : [...lengths, posts];
}

function increasing(lengths: readonly number[]): number[] {
  return [...new Set(lengths)].sort((left, right) => left - right);
}

function next(schedule: Exclude<PrefixSchedule, { name: 'lengths' }>, length: number): number {
  if (schedule.name === 'every') return length + 1;
  // Steps of 5 read 1, 5, 10, 15, …: the numbers people expect of "every fifth post".
  if (schedule.name === 'step') return (Math.floor(length / schedule.posts) + 1) * schedule.posts;
  return Math.max(length + 1, Math.round(length * schedule.factor));
}
