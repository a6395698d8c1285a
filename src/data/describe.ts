import { quantile } from '../metrics/summary-statistics.ts';
import { countShared, type TextFingerprints, textFingerprints } from './text-fingerprints.ts';
import { hoursSinceClaim, type Thread } from './thread.ts';

/** The distribution of a number over threads. */
export type Spread = NonNullable<ReturnType<typeof spreadOf>>;

/** The contents of a file of threads. */
export type Description = ReturnType<Describing['description']>;

/** Counts labels, lengths, times, and problems for a training. */
export function describeThreads(threads: readonly Thread[]): Description {
  const described = describing();
  for (const thread of threads) described.add(thread);
  return described.description();
}

type Describing = ReturnType<typeof describing>;

/** Describes threads that come one at a time and are not kept. */
export function describing() {
  const [rumor, veracity, stance, event, split] = [counts(), counts(), counts(), counts(), counts()];
  const labels = new Map<string, ReturnType<typeof counts>>();
  /** For the comparison with other files. */
  const [ids, claimTexts] = [textFingerprints(), textFingerprints()];
  const postTexts = textFingerprints();
  const lengths: number[] = [];
  const spans: number[] = [];
  const total = { posts: 0, withoutTime: 0, withoutText: 0, beforeClaim: 0 };
  return {
    ids,
    claimTexts,
    add(thread: Thread): void {
      const { posts } = thread;
      rumor.add(thread.rumor === null ? 'null' : thread.rumor ? 'rumor' : 'non-rumor');
      veracity.add(thread.veracity ?? 'null');
      event.add(thread.event ?? 'null');
      split.add(thread.split ?? 'null');
      for (const [name, value] of Object.entries(thread.labels ?? {})) {
        const values = labels.get(name) ?? counts();
        labels.set(name, values);
        values.add(String(value));
      }
      ids.add(thread.id);
      lengths.push(posts.length);
      spans.push(...spanHours(thread));
      total.posts += posts.length;
      total.beforeClaim += countBeforeClaim(thread);
      for (const [index, { text, time, stance: postStance }] of posts.entries()) {
        stance.add(postStance ?? 'null');
        if (time === null) total.withoutTime++;
        if (text.trim() === '') total.withoutText++;
        const compared = comparable(text);
        if (compared === '') continue;
        postTexts.add(compared);
        if (index === 0) claimTexts.add(compared);
      }
    },
    /** Every record counts threads or posts by value, the most frequent first. */
    description: () => ({
      threads: lengths.length,
      posts: total.posts,
      rumor: rumor.record(),
      veracity: veracity.record(),
      stance: stance.record(),
      event: event.record(),
      split: split.record(),
      /** For each further label, the number of threads per value. */
      labels: Object.fromEntries(Array.from(labels, ([name, values]) => [name, values.record()])),
      postsPerThread: spreadOf(lengths),
      /** Time from the claim to the last post, over threads with a reply and both times; null without any. */
      spanHours: spreadOf(spans),
      postsWithoutTime: total.withoutTime,
      postsWithoutText: total.withoutText,
      /** Too short for a stop agent to decide; experts and environments leave them out by default. */
      threadsUnder3Posts: lengths.filter((length) => length < 3).length,
      /** Replies older than their claim, which was quoted, created again, or is itself a reply. */
      postsBeforeClaim: total.beforeClaim,
      /** Claims with the text of an earlier thread's claim: they must not be on both sides of a split. */
      repeatedClaimTexts: repeats(claimTexts),
      /** Posts with the text of an earlier post; mostly retweets. */
      repeatedPostTexts: repeats(postTexts),
    }),
  };
}

/**
 * Threads that pairs of files share, which must not be trained on in one and tested on in the other.
 * @returns one entry per pair that shares any
 */
export function describeOverlaps(
  files: readonly ({ name: string } & Pick<Describing, 'ids' | 'claimTexts'>)[],
): { readonly files: readonly [string, string]; readonly sharedIds: number; readonly sharedClaimTexts: number }[] {
  const sets = files.map(({ name, ids, claimTexts }) => ({
    name,
    ids: ids.distinct(),
    texts: claimTexts.distinct(),
  }));
  return sets.flatMap((a, index) =>
    sets.slice(index + 1).flatMap((b) => {
      const sharedIds = countShared(a.ids, b.ids);
      const sharedClaimTexts = countShared(a.texts, b.texts);
      return sharedIds + sharedClaimTexts > 0
        ? [{ files: [a.name, b.name] as const, sharedIds, sharedClaimTexts }]
        : [];
    }),
  );
}

function counts() {
  const counted = new Map<string, number>();
  return {
    add: (name: string) => void counted.set(name, (counted.get(name) ?? 0) + 1),
    /** The counts, the most frequent first. */
    record: (): Readonly<Record<string, number>> => Object.fromEntries([...counted].sort((a, b) => b[1] - a[1])),
  };
}

function spanHours(thread: Thread): number[] {
  const hours = thread.posts.flatMap((_, index) => (index === 0 ? [] : (hoursSinceClaim(thread, index) ?? [])));
  return hours.length === 0 ? [] : [Math.max(...hours)];
}

function countBeforeClaim(thread: Thread): number {
  const { time: start } = thread.posts[0];
  if (start === null) return 0;
  return thread.posts.filter(({ time }) => time !== null && Date.parse(time) < Date.parse(start)).length;
}

/** A text without case, spacing and links, which differ between copies. */
function comparable(text: string): string {
  return text
    .toLowerCase()
    .replace(/https?:\/\/\S+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function repeats(texts: TextFingerprints): number {
  return texts.count - texts.distinct().length;
}

function spreadOf(values: readonly number[]) {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return {
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
    min: sorted[0],
    quantile10: quantile(sorted, 0.1),
    median: quantile(sorted, 0.5),
    quantile90: quantile(sorted, 0.9),
    max: sorted[sorted.length - 1],
  };
}
