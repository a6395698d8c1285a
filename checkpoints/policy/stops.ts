/*
 * A policy stops at the first post whose score exceeds its threshold, at its deadline, or at the thread's end.
 * Training, tests, decisions and exported policies share this.
 */

/** Limits on the reading of a thread, besides the score. */
export interface Limits {
  /** Posts that are read at most: the thread ends there. */
  readonly maxPosts: number;
  /** The latest decision, in posts and in hours after the claim; null for no limit. */
  readonly deadline: { readonly posts: number | null; readonly hours: number | null };
}

export interface StopRule {
  /** The policy stops if its score exceeds the threshold. */
  readonly threshold: number;
  readonly limits: Limits;
}

/** Reads every thread to its end. */
export const readsAll: StopRule = {
  threshold: 1,
  limits: { maxPosts: Number.MAX_SAFE_INTEGER, deadline: { posts: null, hours: null } },
};

export type StopReason = 'threshold' | 'deadline' | 'end';

export interface Stop {
  /** Posts that the decision is about. */
  readonly postsUsed: number;
  readonly why: StopReason;
  /** Time from the claim to the deadline if it passed, otherwise to the last post used; null if a time is unknown. */
  readonly hours: number | null;
}

export interface OpenStops {
  /**
   * Called before the next post is read. A post after the deadline is not read, and a post without a time counts as
   * late, so that no decision misses the deadline.
   * @param hours from the claim to that post
   */
  beforePost(hours: number | null): Stop | null;
  afterPost(post: { score: number; hours: number | null }): Stop | null;
  /** Called when no post has arrived for this many hours after the claim. */
  atTime(hours: number): Stop | null;
  /** Called when no post will come. */
  atEnd(): Stop;
}

export function openStops({ threshold, limits }: StopRule): OpenStops {
  const { maxPosts, deadline } = limits;
  const hours: (number | null)[] = [];
  return {
    beforePost(next) {
      return hours.length > 0 && isLate(next, deadline) ? atDeadline(hours, next, deadline) : null;
    },
    afterPost(post) {
      hours.push(post.hours);
      if (post.score > threshold) return stopAt(hours, hours.length, 'threshold');
      if (hours.length === deadline.posts) return stopAt(hours, hours.length, 'deadline');
      return hours.length === maxPosts ? this.atEnd() : null;
    },
    atTime: (now) => (hours.length > 0 && isLate(now, deadline) ? atDeadline(hours, now, deadline) : null),
    atEnd: () => stopAt(hours, hours.length, 'end'),
  };
}

type Hours = readonly (number | null)[];

function stopAt(hours: Hours, postsUsed: number, why: StopReason): Stop {
  return { postsUsed, why, hours: hours[postsUsed - 1] };
}

function isLate(now: number | null, { hours }: Limits['deadline']): boolean {
  return hours !== null && (now === null || now > hours);
}

function atDeadline(hours: Hours, now: number | null, deadline: Limits['deadline']): Stop {
  return { ...stopAt(hours, hours.length, 'deadline'), hours: now === null ? null : deadline.hours };
}

/** Finds the stop of a thread from its scores. @param posts at least one */
export function stopIn(
  rule: StopRule,
  posts: readonly { readonly score: number; readonly hours: number | null }[],
): Stop {
  const stops = openStops(rule);
  for (const post of posts) {
    const stop = stops.beforePost(post.hours) ?? stops.afterPost(post);
    if (stop !== null) return stop;
  }
  return stops.atEnd();
}
