import type { Thread } from '../src/data/thread.ts';
import { InputError } from '../src/errors.ts';
import type { Judgement } from './detector.ts';
import { type JudgementSequence, judgementSequence } from './judgement-sequence.ts';
import { type PrefixSchedule, scheduledLengths } from './prefix-schedule.ts';

/** Which prefixes are judged. */
export interface PrefixOptions {
  threads: readonly Thread[];
  /** Posts of a thread that are judged; for the sequences, later ones do not exist. */
  maxPosts?: number;
  schedule?: PrefixSchedule;
}

export interface ScheduledPrefixes {
  readonly thread: Thread;
  /** Of the judged prefixes, increasing. */
  readonly lengths: readonly number[];
  /** Of the thread, as far as it is judged. */
  readonly posts: number;
}

/** @throws InputError where two threads share an id or `maxPosts` is out of range */
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
 * The sequence of a thread. Where a prefix was not asked about, the last judgement before it still holds.
 * @param of.judgements one for each length, null where it failed, undefined where it was not asked for
 * @returns null where one was not asked for
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
