import { firstStop } from '../../checkpoints/bundle/golden.ts';
import type { ClaimShift, GrowingThread, Policy } from '../../checkpoints/bundle/policy.ts';
import { stopThreshold } from '../../checkpoints/bundle/promise.ts';
import { HttpProblem } from './http-problem.ts';
import type { ServedBundle } from './models.ts';
import type { KeptPost, Position } from './thread-store.ts';

/** A post as a request brings it. */
export interface NewPost extends KeptPost {
  /** Its place in the thread, 0 for the claim, where the caller counts. */
  readonly index?: number | undefined;
}

/** How far this process has read a thread. What is kept of the thread says whether that still holds. */
export interface Reading {
  readonly bundle: string;
  /** π(stop) above which the thread is decided. */
  readonly threshold: number;
  readonly thread: GrowingThread;
  readonly shiftOf: Policy['shift'];
  readonly steps: Map<string, number>;
  readonly stopProbability: number[];
  incarnation: string;
  start: string | null;
  shift: ClaimShift | null;
  last: KeptPost | null;
  /** The latest time of a reply. */
  lastTime: string | null;
}

/** Where the store must be for the reading to go on from there. */
export function positionOf({ incarnation, stopProbability }: Reading): Position {
  return { incarnation, posts: stopProbability.length };
}

/** Nothing read yet. */
export function begun(bundle: ServedBundle, incarnation: string): Reading {
  const thread = bundle.policy.open();
  return {
    bundle: bundle.sha256,
    threshold: stopThreshold(bundle.policy.manifest.promise),
    thread,
    shiftOf: bundle.policy.shift,
    steps: new Map(),
    stopProbability: [],
    incarnation,
    start: null,
    shift: null,
    last: null,
    lastTime: null,
  };
}

/** No post is read after the one that stops the policy, so that only the last one counts. */
export function isStopped({ stopProbability, threshold }: Reading): boolean {
  return firstStop(Float32Array.from(stopProbability.slice(-1)), threshold).stopped;
}

/** Reads posts up to the first at which the policy stops. */
export async function readOn(reading: Reading, posts: readonly KeptPost[]): Promise<void> {
  for (const post of posts) {
    if (isStopped(reading)) return;
    const [stopProbability] = await reading.thread.read([post]);
    if (reading.last === null) {
      reading.start = post.time;
      reading.shift = reading.shiftOf(post.text);
    } else reading.lastTime = post.time ?? reading.lastTime;
    reading.steps.set(post.id, reading.stopProbability.length);
    reading.stopProbability.push(stopProbability);
    reading.last = post;
  }
}

/**
 * The posts that were not read yet.
 * @throws HttpProblem (409) for one that should have come earlier
 */
export function newPosts({ steps, stopProbability, lastTime }: Reading, posts: readonly NewPost[]): NewPost[] {
  const fresh = new Map<string, NewPost>();
  const places = new Map(steps);
  let latest = lastTime;
  for (const [place, post] of posts.entries()) {
    const next = stopProbability.length + fresh.size;
    const known = places.get(post.id);
    const index = known ?? next;
    if (post.index !== undefined && post.index !== index)
      throw new HttpProblem(
        409,
        known === undefined
          ? `post ${JSON.stringify(post.id)} has index ${post.index}, and the next post of the thread is ${next}; send the posts in their order, and those that are missing first`
          : `post ${JSON.stringify(post.id)} has index ${post.index}, and stands at ${known}`,
        { field: `posts.${place}.index` },
      );
    if (known !== undefined) continue;
    // The claim may be younger than a reply, as in thread files.
    if (next > 0 && post.time !== null) {
      if (latest !== null && Date.parse(post.time) < Date.parse(latest))
        throw new HttpProblem(
          409,
          `post ${JSON.stringify(post.id)} of ${post.time} is earlier than one of ${latest} that was read already; a policy reads posts in time order and cannot take one back. Leave it out, or delete the thread and send it anew in order`,
          { field: `posts.${place}.time` },
        );
      latest = post.time;
    }
    fresh.set(post.id, post);
    places.set(post.id, next);
  }
  return [...fresh.values()];
}
