import { quantile } from '../metrics/summary-statistics.ts';
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
  const posts = threads.flatMap((thread) => thread.posts);
  return {
    threads: threads.length,
    posts: posts.length,
    rumor: countBy(threads, ({ rumor }) => (rumor === null ? 'null' : rumor ? 'rumor' : 'non-rumor')),
    veracity: countBy(threads, ({ veracity }) => veracity ?? 'null'),
    stance: countBy(posts, ({ stance }) => stance ?? 'null'),
    event: countBy(threads, ({ event }) => event ?? 'null'),
    split: countBy(threads, ({ split }) => split ?? 'null'),
    labels: countLabels(threads),
    postsPerThread: spreadOf(threads.map((thread) => thread.posts.length)),
    spanHours: spreadOf(threads.flatMap(spanHours)),
    postsWithoutTime: posts.filter(({ time }) => time === null).length,
    postsWithoutText: posts.filter(({ text }) => text.trim() === '').length,
    threadsUnder3Posts: threads.filter((thread) => thread.posts.length < 3).length,
    postsBeforeClaim: threads.reduce((sum, thread) => sum + countBeforeClaim(thread), 0),
    repeatedClaimTexts: repeats(threads.map((thread) => thread.posts[0].text)),
    repeatedPostTexts: repeats(posts.map(({ text }) => text)),
  };
}

/** What two files share, ids and texts of claims. */
export interface Overlap {
  readonly files: readonly [string, string];
  readonly sharedIds: number;
  readonly sharedClaimTexts: number;
}

/**
 * What pairs of files share: threads that must not be trained on in one and tested on in the other.
 * @returns an entry for each pair that shares anything
 */
export function describeOverlaps(files: readonly { name: string; threads: readonly Thread[] }[]): Overlap[] {
  const sets = files.map(({ name, threads }) => ({
    name,
    ids: new Set(threads.map(({ id }) => id)),
    texts: new Set(threads.map((thread) => comparable(thread.posts[0].text))),
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

function countShared(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const item of a) if (item !== '' && b.has(item)) shared++;
  return shared;
}

/** Counts, the most frequent first. */
function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]));
}

function countLabels(threads: readonly Thread[]): Record<string, Record<string, number>> {
  const names = [...new Set(threads.flatMap(({ labels }) => Object.keys(labels ?? {})))];
  return Object.fromEntries(
    names.map((name) => {
      const labelled = threads.flatMap(({ labels }) => labels?.[name] ?? []);
      return [name, countBy(labelled, String)];
    }),
  );
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

function repeats(texts: readonly string[]): number {
  const filled = texts.map(comparable).filter((text) => text !== '');
  return filled.length - new Set(filled).size;
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
