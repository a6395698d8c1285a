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

/** The stops of one thread, whose posts come one after another. */
export function openStops({ threshold, limits }: StopRule) {
  const { maxPosts, deadline } = limits;
  /** From the claim to the last post. */
  let hours: number | null = null;
  let posts = 0;
  const stopFor = (why: StopReason): Stop => ({ postsUsed: posts, why, hours });
  const stopIfLate = (now: number | null): Stop | null => {
    const isLate = posts > 0 && deadline.hours !== null && (now === null || now > deadline.hours);
    return isLate ? { ...stopFor('deadline'), hours: now === null ? null : deadline.hours } : null;
  };
  return {
    /**
     * Called before the next post is read. A post after the deadline is not read, and a post without a time counts as
     * late, so that no decision misses the deadline.
     * @param next hours from the claim to that post
     */
    beforePost: (next: number | null): Stop | null => stopIfLate(next),
    afterPost(post: { readonly score: number; readonly hours: number | null }): Stop | null {
      posts++;
      hours = post.hours;
      if (post.score > threshold) return stopFor('threshold');
      if (posts === deadline.posts) return stopFor('deadline');
      return posts === maxPosts ? stopFor('end') : null;
    },
    /** Called when no post has arrived for this many hours after the claim. */
    atTime: (now: number): Stop | null => stopIfLate(now),
    /** Called when no post will come. */
    atEnd: (): Stop => stopFor('end'),
  };
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
