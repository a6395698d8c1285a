import { InputError } from '../errors.ts';

/** Decisions of an agent; one entry per thread. */
export interface Decisions {
  /** Posts seen at the decision, 1 to the thread's length. */
  readonly postsUsed: Int32Array | readonly number[];
  /** Posts in the thread. */
  readonly threadPosts: Int32Array | readonly number[];
  /** Indices of the threads to count, with repetitions (a bootstrap sample); every thread once by default. */
  readonly items?: Int32Array | readonly number[];
}

/**
 * ER (EARD, §5.1): posts used at the decision / posts in the thread, mean over threads. In (0, 1]; lower is earlier.
 * @throws InputError without threads
 */
export function earlyRate(decisions: Decisions): number {
  return meanOver(decisions, (used, posts) => used / posts);
}

/**
 * The mean delay in posts after the claim, and in hours over the threads with known times; null without any.
 * @param options.hours [threads]: from the claim to the post of the decision; null if a time is unknown
 * @throws InputError without threads
 */
export function meanDelay({ hours, ...decisions }: Decisions & { readonly hours: readonly (number | null)[] }) {
  const posts = meanOver(decisions, (used) => used - 1);
  let sum = 0;
  let threadsWithHours = 0;
  for (const item of itemsOf(decisions)) {
    const value = hours[item];
    if (value === null) continue;
    sum += value;
    threadsWithHours++;
  }
  return { posts, hours: threadsWithHours === 0 ? null : sum / threadsWithHours, threadsWithHours };
}

/**
 * The fixed rule that explains most of an agent's decisions, `post k` or `last post`, with its share of threads. Near
 * 1, the agent learned this rule and nothing about the threads. A decision on the last post counts for both rules. In a
 * tie `last post` wins, or else the earlier post.
 * @throws InputError without threads
 */
export function mostCommonStopShare(decisions: Decisions): { name: string; share: number } {
  const counts = new Map<number, number>();
  const items = itemsOf(decisions);
  let last = 0;
  for (const item of items) {
    const used = decisions.postsUsed[item];
    counts.set(used, (counts.get(used) ?? 0) + 1);
    if (used === decisions.threadPosts[item]) last++;
  }
  let best = { name: 'last post', count: last };
  for (const [position, count] of [...counts].sort(([a], [b]) => a - b))
    if (count > best.count) best = { name: `post ${position}`, count };
  return { name: best.name, share: best.count / items.length };
}

function meanOver(decisions: Decisions, value: (used: number, posts: number) => number): number {
  const items = itemsOf(decisions);
  let sum = 0;
  for (let place = 0; place < items.length; place++) {
    const item = items[place];
    sum += value(decisions.postsUsed[item], decisions.threadPosts[item]);
  }
  return sum / items.length;
}

function itemsOf({ postsUsed, items = Int32Array.from(postsUsed.keys()) }: Decisions) {
  if (items.length > 0) return items;
  throw new InputError('there are no threads to measure earliness on; evaluate on at least one');
}
