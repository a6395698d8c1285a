import { quantile } from '../metrics/summary-statistics.ts';
import { countShared, type TextFingerprints, textFingerprints } from './text-fingerprints.ts';
import { hoursSinceClaim, type Thread } from './thread.ts';

/** How a number is distributed over threads. */
export interface Spread {
  readonly mean: number;
  readonly min: number;
  readonly quantile10: number;
  readonly median: number;
  readonly quantile90: number;
  readonly max: number;
}

/** What is in a file of threads; every record counts threads or posts by value, the most frequent first. */
export interface Description {
  readonly threads: number;
  readonly posts: number;
  readonly rumor: Readonly<Record<string, number>>;
  readonly veracity: Readonly<Record<string, number>>;
  readonly stance: Readonly<Record<string, number>>;
  readonly event: Readonly<Record<string, number>>;
  readonly split: Readonly<Record<string, number>>;
  /** For each further label, how many threads have which value. */
  readonly labels: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly postsPerThread: Spread | null;
  /** From the claim to the last post, over threads that have a reply and both times; null if there are none. */
  readonly spanHours: Spread | null;
  readonly postsWithoutTime: number;
  readonly postsWithoutText: number;
  /** Too short for a stop agent to decide anything; experts and environments leave them out by default. */
  readonly threadsUnder3Posts: number;
  /** Replies older than their claim, which was quoted, created again, or is itself a reply. */
  readonly postsBeforeClaim: number;
  /** Claims whose text is that of an earlier thread's claim: they must not stand on both sides of a split. */
  readonly repeatedClaimTexts: number;
  /** Posts whose text is that of an earlier post; mostly retweets. */
  readonly repeatedPostTexts: number;
}

/** Counts what is in `threads`: labels, lengths, times, and what would mislead a training. */
export function describeThreads(threads: readonly Thread[]): Description {
  const described = describing();
  for (const thread of threads) described.add(thread);
  return described.description();
}

/** A description in the making, of threads that come one at a time and are not kept. */
export interface Describing {
  add(thread: Thread): void;
  description(): Description;
  /** To compare with those of other threads. */
  readonly ids: TextFingerprints;
  readonly claimTexts: TextFingerprints;
}

export function describing(): Describing {
  const [rumor, veracity, stance, event, split] = [counts(), counts(), counts(), counts(), counts()];
  const labels = new Map<string, NameCounts>();
  const [ids, claimTexts, postTexts] = [textFingerprints(), textFingerprints(), textFingerprints()];
  const lengths: number[] = [];
  const spans: number[] = [];
  const total = { posts: 0, withoutTime: 0, withoutText: 0, beforeClaim: 0 };
  return {
    ids,
    claimTexts,
    add(thread) {
      const { posts } = thread;
      rumor.add(thread.rumor === null ? 'null' : thread.rumor ? 'rumor' : 'non-rumor');
      veracity.add(thread.veracity ?? 'null');
      event.add(thread.event ?? 'null');
      split.add(thread.split ?? 'null');
      for (const [name, value] of Object.entries(thread.labels ?? {})) {
        const own = labels.get(name) ?? counts();
        labels.set(name, own);
        own.add(String(value));
      }
      ids.add(thread.id);
      lengths.push(posts.length);
      spans.push(...spanHours(thread));
      total.posts += posts.length;
      total.beforeClaim += countBeforeClaim(thread);
      for (const [index, { text, time, stance: own }] of posts.entries()) {
        stance.add(own ?? 'null');
        if (time === null) total.withoutTime++;
        if (text.trim() === '') total.withoutText++;
        const compared = comparable(text);
        if (compared === '') continue;
        postTexts.add(compared);
        if (index === 0) claimTexts.add(compared);
      }
    },
    description: () => ({
      threads: lengths.length,
      posts: total.posts,
      rumor: rumor.record(),
      veracity: veracity.record(),
      stance: stance.record(),
      event: event.record(),
      split: split.record(),
      labels: Object.fromEntries(Array.from(labels, ([name, own]) => [name, own.record()])),
      postsPerThread: spreadOf(lengths),
      spanHours: spreadOf(spans),
      postsWithoutTime: total.withoutTime,
      postsWithoutText: total.withoutText,
      threadsUnder3Posts: lengths.filter((length) => length < 3).length,
      postsBeforeClaim: total.beforeClaim,
      repeatedClaimTexts: repeats(claimTexts),
      repeatedPostTexts: repeats(postTexts),
    }),
  };
}

/**
 * What pairs of files share: threads that must not be trained on in one and tested on in the other.
 * @returns an entry for each pair that shares anything
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

interface NameCounts {
  add(name: string): void;
  /** The most frequent first. */
  record(): Record<string, number>;
}

function counts(): NameCounts {
  const counted = new Map<string, number>();
  return {
    add: (name) => void counted.set(name, (counted.get(name) ?? 0) + 1),
    record: () => Object.fromEntries([...counted].sort((a, b) => b[1] - a[1])),
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

/** Without case, spacing and links, which differ between copies of one text. */
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

function spreadOf(values: readonly number[]): Spread | null {
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
