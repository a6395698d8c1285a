import type { Thread } from '../src/data/thread.ts';
import { InputError } from '../src/errors.ts';
import type { Judgement } from './detector.ts';
import { type JudgementSequence, judgementSequence } from './judgement-sequence.ts';
import { type PrefixSchedule, scheduledLengths } from './prefix-schedule.ts';

export interface PrefixOptions {
  threads: readonly Thread[];
  /** Posts of a thread that are judged; sequences end there. */
  maxPosts?: number;
  schedule?: PrefixSchedule;
}

export interface ScheduledPrefixes {
  readonly thread: Thread;
  /** Judged prefix lengths, increasing. */
  readonly lengths: readonly number[];
  /** Posts of the thread that may be judged. */
  readonly posts: number;
}

/** @throws InputError if two threads share an id or `maxPosts` is out of range */
export function scheduledPrefixes(options: PrefixOptions): ScheduledPrefixes[] {
  const { threads, maxPosts = 500, schedule = { name: 'every' } } = options;
  if (!Number.isInteger(maxPosts) || maxPosts < 1)
    throw new InputError(`annotate: maxPosts is ${maxPosts}; it must be a whole number of at least 1`);
  const ids = new Set<string>();
  return threads.map((thread) => {
    const { id } = thread;
    if (ids.has(id))
      throw new InputError(`annotate: two threads have the id ${JSON.stringify(id)}; ids must be unique in a data set`);
    ids.add(id);
    const posts = Math.min(thread.posts.length, maxPosts);
    return { thread, lengths: scheduledLengths({ schedule, posts }), posts };
  });
}

/**
 * The sequence of a thread. A prefix that was not queried has the judgement of the last one before it.
 * @param of.judgements one per length: null if it failed, undefined if it was not queried
 * @returns null if a judgement is missing
 */
export function sequenceOf(
  { thread, lengths, posts }: ScheduledPrefixes,
  of: { judgements: readonly (Judgement | null | undefined)[]; labels: readonly string[] },
): JudgementSequence | null {
  const judgements = new Array<Judgement | null>(posts).fill(null);
  for (const [index, length] of lengths.entries()) {
    const judgement = of.judgements[index];
    if (judgement === undefined) return null;
    judgements.fill(judgement, length - 1);
  }
  return judgementSequence({ threadId: thread.id, labels: of.labels, judgements });
}
