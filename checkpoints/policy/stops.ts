/*
 * When a policy stops. It reads posts one by one and stops at the first whose score exceeds its threshold, at its deadline, or where
 * the thread ends. Training, tests, decisions and exported policies share this.
 */

/** What ends the reading of a thread, besides the score. */
export interface Limits {
  /** Later posts are not read: the thread ends there. */
  readonly maxPosts: number;
  /** A thread is decided after so many posts, or so many hours after the claim, at the latest; null for no such limit. */
  readonly deadline: { readonly posts: number | null; readonly hours: number | null };
}

export interface StopRule {
  /** The policy stops where its score exceeds this. */
  readonly threshold: number;
  readonly limits: Limits;
}

/** A thread is read to its end, whatever its scores. */
export const readsAll: StopRule = {
  threshold: 1,
  limits: { maxPosts: Number.MAX_SAFE_INTEGER, deadline: { posts: null, hours: null } },
};

export type StopReason = 'threshold' | 'deadline' | 'end';

export interface Stop {
  /** Posts that the decision is about. */
  readonly postsUsed: number;
  readonly why: StopReason;
  /** From the claim to the decision: the deadline where that passed, else the last post used; null where a time is unknown. */
  readonly hours: number | null;
}

/** The stops of one thread. */
export interface OpenStops {
  /**
   * Before the next post is read. A post that comes after the deadline is not read, and one without a time counts as later, so
   * that no decision is later than promised.
   * @param hours from the claim to that post
   */
  beforePost(hours: number | null): Stop | null;
  /** After a post was read. */
  afterPost(post: { score: number; hours: number | null }): Stop | null;
  /** So many hours after the claim, no further post has come. */
  atTime(hours: number): Stop | null;
  /** No post will come. */
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

/** Where a thread is decided whose scores are known. @param posts at least one */
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
