import * as z from 'zod/mini';
import { claimRegionSchema } from './claim-shift.ts';
import type { StopRule } from './stops.ts';

/*
 * What `earshot calibrate` found: from which probability of stopping on an agent stops, so that what was promised holds. zod/mini,
 * because the reader also runs in browsers.
 */

export const stopPromiseSchema = z.object({
  /**
   * What counts against the promise. disagreement: the verdict at the stop is not the one after all posts; harm: it is wrong
   * there and right after all posts.
   */
  loss: z.enum(['disagreement', 'harm']),
  /** At most this share of threads lose, … */
  level: z.number(),
  /** … with this probability over the calibration threads. */
  confidence: z.number(),
  /** The policy stops at the first post whose score exceeds it; 1 where it has to read everything. */
  threshold: z.number(),
  /** Threads that it was found on, and those of them that lose. */
  threads: z.int(),
  losses: z.int(),
  /** Upper bound on the share that loses, at that confidence. */
  bound: z.number(),
  /** Mean share of posts read on those threads. */
  er: z.number(),
  /** Which threads are like those. */
  shift: claimRegionSchema,
});
export type StopPromise = z.infer<typeof stopPromiseSchema>;

/** How a policy stops, in words. */
export function stopRuleInWords({ threshold, limits: { maxPosts, lastPost, deadline } }: StopRule): string {
  const latest = [
    ...(deadline.posts === null ? [] : [`after ${deadline.posts} posts`]),
    ...(deadline.hours === null ? [] : [`${deadline.hours} hours after the claim`]),
    lastPost === 'decision' ? `at the last post, or post ${maxPosts}` : 'at the last post but one',
  ];
  const score = threshold >= 1 ? 'stop' : `stop at the first post whose score exceeds ${threshold}, and otherwise`;
  return `${score} ${latest.join(' or ')}${latest.length > 1 ? ', whichever comes first' : ''}`;
}

/** What is promised, as a sentence. */
export function promiseInWords({ loss, level, confidence, threads }: StopPromise): string {
  const lost = {
    disagreement: 'the verdict at the stop differs from the one after all posts',
    harm: 'the verdict is wrong at the stop and right after all posts',
  }[loss];
  return `With confidence ${share(confidence)}, ${lost} in at most ${share(level)} of threads like the ${threads} that this was calibrated on`;
}

function share(value: number): string {
  return `${Number((100 * value).toPrecision(6))} %`;
}
