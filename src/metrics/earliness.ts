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
 * @throws InputError without threads, or for a decision outside its thread
 */
export function earlyRate(decisions: Decisions): number {
  return meanOver(decisions, (used, posts) => used / posts);
}

/** The delay of an agent's decisions. */
export interface Delay {
  /** Mean number of posts after the claim. */
  readonly posts: number;
  /** Mean over the threads with known times; null without any. */
  readonly hours: number | null;
  readonly threadsWithHours: number;
}

/**
 * The mean delay in posts and in hours.
 * @param options.hours [threads]: from the claim to the post of the decision; null if a time is unknown
 * @throws as `earlyRate`, and InputError for a thread without an entry in `hours`
 */
export function meanDelay({ hours, ...decisions }: Decisions & { readonly hours: readonly (number | null)[] }): Delay {
  const posts = meanOver(decisions, (used) => used - 1);
  let sum = 0;
  let threadsWithHours = 0;
  for (const item of itemsOf(decisions)) {
    const value = hours[item];
    if (value === undefined)
      throw new InputError(`thread ${item} has a decision and no entry in \`hours\`; give null where it is unknown`);
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
 * @throws as `earlyRate`
 */
export function mostCommonStopShare(decisions: Decisions): { name: string; share: number } {
  const counts = new Map<number, number>();
  let threads = 0;
  let last = 0;
  for (const item of itemsOf(decisions)) {
    const { used, posts } = decisionAt(decisions, item);
    counts.set(used, (counts.get(used) ?? 0) + 1);
    if (used === posts) last++;
    threads++;
  }
  if (threads === 0) throw noThreads();
  let best = { name: 'last post', count: last };
  for (const [position, count] of [...counts].sort(([a], [b]) => a - b))
    if (count > best.count) best = { name: `post ${position}`, count };
  return { name: best.name, share: best.count / threads };
}

function meanOver(decisions: Decisions, value: (used: number, posts: number) => number): number {
  const items = itemsOf(decisions);
  let sum = 0;
  for (let place = 0; place < items.length; place++) {
    const { used, posts } = decisionAt(decisions, items[place]);
    sum += value(used, posts);
  }
  if (items.length === 0) throw noThreads();
  return sum / items.length;
}

function itemsOf({ postsUsed, threadPosts, items }: Decisions): Int32Array | readonly number[] {
  if (postsUsed.length !== threadPosts.length)
    throw new InputError(
      `there are ${postsUsed.length} decisions and ${threadPosts.length} threads; give one a thread`,
    );
  return items ?? Int32Array.from(postsUsed.keys());
}

function decisionAt({ postsUsed, threadPosts }: Decisions, item: number): { used: number; posts: number } {
  const used = postsUsed[item];
  const posts = threadPosts[item];
  if (!(used >= 1 && used <= posts))
    throw new InputError(`thread ${item} has ${posts} posts and a decision after ${used}; it must be 1 to ${posts}`);
  return { used, posts };
}

function noThreads(): InputError {
  return new InputError('there are no threads to measure earliness on; evaluate on at least one');
}
