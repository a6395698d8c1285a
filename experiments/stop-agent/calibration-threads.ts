import type { Thread } from '../../src/data/thread.ts';
import { quantile } from '../../src/metrics/summary-statistics.ts';

/** Threads that a guarantee may be found on: no copies of those that a policy knows, and with all of their posts. */
export interface CalibrationThreads {
  readonly threads: readonly Thread[];
  /** Threads left out whose claim a known thread has, word for word. */
  readonly duplicates: number;
  /** Threads left out that may go on: so short a time before the newest post of all, they still had posts. */
  readonly unfinished: number;
  /** That time; null where no two posts of a thread have one. */
  readonly quietHours: number | null;
}

/** Of the pauses within threads, so many are shorter than the default quiet time. */
const quietShare = 0.99;

/**
 * @param options.familiar threads that the policy learnt from or was tested on
 * @param options.quietHours null for a default by the data; 0 counts every thread as finished
 */
export function calibrationThreads(
  candidates: readonly Thread[],
  { familiar, quietHours }: { familiar: readonly Thread[]; quietHours: number | null },
): CalibrationThreads {
  const claims = new Set(familiar.map(claimOf));
  const single = candidates.filter((thread) => !claims.has(claimOf(thread)));
  const times = new Map(single.map((thread) => [thread, timesOf(thread)]));
  const quiet = quietHours ?? defaultQuiet([...times.values()]);
  const newest = [...times.values()].reduce((latest, postTimes) => Math.max(latest, postTimes.at(-1) ?? 0), 0);
  const threads = single.filter((thread) => {
    const last = times.get(thread)?.at(-1);
    return last === undefined || quiet === null || newest - last >= quiet || newest === 0;
  });
  return {
    threads,
    duplicates: candidates.length - single.length,
    unfinished: single.length - threads.length,
    quietHours: quiet,
  };
}

function claimOf({ posts: [{ text }] }: Thread): string {
  return text.normalize('NFKC').trim().toLowerCase();
}

/** Hours since 1970 of the posts whose time is known, ascending. */
function timesOf({ posts }: Thread): number[] {
  return posts.flatMap(({ time }) => (time === null ? [] : [Date.parse(time) / 3_600_000])).sort((a, b) => a - b);
}

function defaultQuiet(times: readonly (readonly number[])[]): number | null {
  const pauses = times.flatMap((postTimes) => postTimes.slice(1).map((time, index) => time - postTimes[index]));
  return pauses.length === 0 ? null : quantile(Float64Array.from(pauses).sort(), quietShare);
}
