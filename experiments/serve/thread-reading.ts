import type { OutOfDistribution } from '../../checkpoints/policy/out-of-distribution.ts';
import type { OpenThread } from '../../checkpoints/policy/policy.ts';
import { hoursBetween } from '../../src/data/iso-time.ts';
import { HttpProblem } from './http-problem.ts';
import type { ServedBundle } from './models.ts';
import type { KeptPost, Position } from './thread-store.ts';

export interface NewPost extends KeptPost {
  /** The place in the thread, 0 for the claim, if the caller counts. */
  readonly index?: number;
}

/** The state of a thread in this process, valid while the store has the same incarnation. */
export interface ThreadReading {
  readonly bundle: ServedBundle;
  readonly id: string;
  readonly thread: OpenThread;
  readonly posts: { readonly id: string; readonly time: string | null }[];
  incarnation: string;
  outOfDistribution: OutOfDistribution | null;
  trainedOn: boolean;
  /** The latest time of a reply. */
  lastTime: string | null;
}

/** The store's position that this reading continues from. */
export function positionOf({ incarnation, posts }: ThreadReading): Position {
  return { incarnation, posts: posts.length };
}

export function begun(bundle: ServedBundle, { incarnation, id }: { incarnation: string; id: string }): ThreadReading {
  const thread = bundle.policy.open(id);
  return { bundle, id, thread, posts: [], incarnation, outOfDistribution: null, trainedOn: false, lastTime: null };
}

/** True once the policy has stopped or the thread has ended. */
export function isDecided({ thread }: ThreadReading): boolean {
  return thread.reading().why !== null;
}

/** Reads posts up to the stop. */
export async function readOn(reading: ThreadReading, posts: readonly KeptPost[]): Promise<void> {
  for (const post of posts) {
    const { postsRead, why } = await reading.thread.read(post);
    if (postsRead > reading.posts.length) {
      if (reading.posts.length === 0) {
        const { policy } = reading.bundle;
        reading.outOfDistribution = policy.outOfDistribution(post.text);
        reading.trainedOn = await policy.isTrainedOn({ id: reading.id, posts: [post] });
      } else reading.lastTime = post.time ?? reading.lastTime;
      reading.posts.push({ id: post.id, time: post.time });
    }
    if (why !== null) return;
  }
}

/** Decides a silent thread at its deadline, before the next post comes. */
export function waitUntil(reading: ThreadReading, now: Date): void {
  const hours = hoursBetween(reading.posts[0]?.time ?? null, now.toISOString());
  if (hours !== null) reading.thread.wait(hours);
}

/** The unread posts. @throws HttpProblem (409) for one out of order */
export function newPosts(reading: ThreadReading, posts: readonly NewPost[]): NewPost[] {
  const fresh = new Map<string, NewPost>();
  const places = new Map(reading.posts.map(({ id }, index) => [id, index]));
  const count = reading.posts.length;
  let latest = reading.lastTime;
  for (const [index, post] of posts.entries()) {
    const next = count + fresh.size;
    const place = places.get(post.id);
    if (post.index !== undefined && post.index !== (place ?? next))
      throw new HttpProblem(
        409,
        place === undefined
          ? `post ${JSON.stringify(post.id)} has index ${post.index}, and the next post of the thread is ${next}; send the posts in their order, and those that are missing first`
          : `post ${JSON.stringify(post.id)} has index ${post.index}, and stands at ${place}`,
        { field: `posts.${index}.index` },
      );
    if (place !== undefined) continue;
    // The claim may be younger than a reply, as in thread files.
    if (next > 0 && post.time !== null) {
      if (latest !== null && Date.parse(post.time) < Date.parse(latest))
        throw new HttpProblem(
          409,
          `post ${JSON.stringify(post.id)} of ${post.time} is earlier than one of ${latest} that was read already; a policy reads posts in time order and cannot take one back. Leave it out, or delete the thread and send it again in order`,
          { field: `posts.${index}.time` },
        );
      latest = post.time;
    }
    fresh.set(post.id, post);
    places.set(post.id, next);
  }
  return [...fresh.values()];
}
