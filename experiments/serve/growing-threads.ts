import { hoursBetween, type Prefix } from '../../src/data/thread.ts';
import { HttpProblem } from './http-problem.ts';
import type { ServedBundle } from './models.ts';
import type { ThreadView } from './schemas.ts';
import { begun, isStopped, type NewPost, newPosts, positionOf, type Reading, readOn } from './thread-reading.ts';
import type { KeptPost, Outcome, ThreadStore } from './thread-store.ts';
import type { Asked } from './verdicts.ts';

/** How often to begin again when others add to the same thread at the same time. */
const attempts = 10;

/** Threads that come post by post, decided by bundles. */
export function growingThreads({ store, maxReadings }: { store: ThreadStore; maxReadings: number }) {
  /** In the order of their last use. A reading that was dropped is made again from the posts. */
  const readings = new Map<string, Reading>();
  /** The last piece of work on each thread; within one process, a thread is worked on in turns. */
  const turns = new Map<string, Promise<unknown>>();

  /**
   * Adds posts. Those that are known are answered as before, by their id.
   * @param options.end no post will follow, so that a thread which the policy never stops is decided, too
   * @throws HttpProblem 409 for posts out of order, 503 where nothing more can be kept
   */
  function add(
    bundle: ServedBundle,
    { id, posts, end }: { id: string; posts: readonly NewPost[]; end: boolean },
  ): Promise<ThreadView> {
    return inTurn(keyOf(bundle, id), async (key) => {
      for (let attempt = 0; attempt < attempts; attempt++) {
        const reading = await readingOf(bundle, key);
        if (reading !== null && 'outcome' in reading)
          return decidedView({ bundle, id, outcome: reading.outcome, posts });
        const added = await addTo(reading, { bundle, key, posts, end });
        if (added === null) continue;
        const asked = posts.map((post) => post.id);
        return view(added.reading, { bundle, id, key, asked, ended: added.ended });
      }
      throw new HttpProblem(409, `others keep adding to thread ${id}; send the posts of a thread one after another`);
    });
  }

  /** Null where there is no such thread. Asks for a verdict that is still missing. */
  function find(bundle: ServedBundle, id: string): Promise<ThreadView | null> {
    return inTurn(keyOf(bundle, id), async (key) => {
      const reading = await readingOf(bundle, key);
      if (reading === null) return null;
      if ('outcome' in reading) {
        const { outcome } = reading;
        return decidedView({ bundle, id, outcome, posts: outcome.posts });
      }
      const { reading: own, ended } = reading;
      return view(own, { bundle, id, key, asked: [...own.steps.keys()], ended });
    });
  }

  async function inTurn<T>(key: string, work: (key: string) => Promise<T>): Promise<T> {
    const before = turns.get(key);
    const own = (before ?? Promise.resolve()).then(
      () => work(key),
      () => work(key),
    );
    turns.set(key, own);
    try {
      return await own;
    } finally {
      if (turns.get(key) === own) turns.delete(key);
    }
  }

  /** The thread, read up to its last kept post; or its outcome; null where it is not kept. */
  async function readingOf(
    bundle: ServedBundle,
    key: string,
  ): Promise<{ outcome: Outcome } | { reading: Reading; ended: boolean } | null> {
    const cached = readings.get(key);
    const current = cached?.bundle === bundle.sha256 ? cached : undefined;
    const kept = await store.read(key, current === undefined ? null : positionOf(current));
    if (kept === null || kept.outcome !== null) readings.delete(key);
    if (kept === null) return null;
    if (kept.outcome !== null) return { outcome: kept.outcome };
    const reading = current?.incarnation === kept.incarnation ? current : begun(bundle, kept.incarnation);
    await readOn(reading, kept.posts);
    keep(key, reading);
    return { reading, ended: kept.ended };
  }

  /** Reads and keeps the posts that are new, up to the decision. Null where the thread has moved on elsewhere. */
  async function addTo(
    present: { reading: Reading; ended: boolean } | null,
    { bundle, key, posts, end }: { bundle: ServedBundle; key: string; posts: readonly NewPost[]; end: boolean },
  ): Promise<{ reading: Reading; ended: boolean } | null> {
    const reading = present?.reading ?? begun(bundle, '');
    const isDecided = isStopped(reading) || present?.ended === true;
    const fresh = isDecided ? [] : newPosts(reading, posts);
    const wanted = fresh.slice(0, Math.max(0, bundle.maxPosts - reading.stopProbability.length));
    const position = present === null ? null : positionOf(reading);
    // While this is read and kept, nobody else may go on from the reading.
    readings.delete(key);
    await readOn(reading, wanted);
    const used = Math.min(wanted.length, reading.stopProbability.length - (position?.posts ?? 0));
    if (reading.stopProbability.length === 0)
      throw new HttpProblem(404, 'a thread begins with its first post, the claim', { field: 'posts' });
    const ended =
      present?.ended === true || (!isStopped(reading) && (end || reading.stopProbability.length >= bundle.maxPosts));
    if (used > 0 || ended !== (present?.ended ?? false)) {
      const addition = { position, posts: wanted.slice(0, used).map(kept), ended };
      const incarnation = await store.append(key, addition);
      if (incarnation === null) return null;
      reading.incarnation = incarnation;
    }
    keep(key, reading);
    return { reading, ended };
  }

  async function view(
    reading: Reading,
    options: { bundle: ServedBundle; id: string; key: string; asked: readonly string[]; ended: boolean },
  ): Promise<ThreadView> {
    const { bundle, id, key, asked, ended } = options;
    const { last, shift, start, steps, stopProbability } = reading;
    if (last === null) throw new Error(`thread ${key} is kept without posts`);
    const stopped = isStopped(reading);
    const hours = hoursBetween(start, last.time);
    const outcome: Outcome = {
      bundle: bundle.sha256,
      stopped,
      hours,
      time: last.time,
      shift,
      posts: [...steps].map(([post, step]) => ({ id: post, stopProbability: stopProbability[step] })),
      verdict: null,
      verdictMissing: null,
    };
    const posts = asked.map((post) => ({ id: post }));
    if (!stopped && !ended) return { ...decidedView({ bundle, id, outcome, posts }), decision: 'continue' };
    const answer = await verdictOf({ bundle, id, key });
    const decided = { ...outcome, ...answer.said };
    if (answer.isFinal) {
      await store.settle(key, { incarnation: reading.incarnation, outcome: decided });
      readings.delete(key);
    }
    return decidedView({ bundle, id, outcome: decided, posts });
  }

  async function verdictOf({ bundle, id, key }: { bundle: ServedBundle; id: string; key: string }): Promise<Asked> {
    const posts = (await store.read(key, null))?.posts ?? [];
    // Expired or deleted a moment ago: the decision stands, but what it was about is gone.
    if (posts.length === 0)
      return { isFinal: false, said: { verdict: null, verdictMissing: 'the thread was deleted or has expired' } };
    const prefix: Prefix = { threadId: id, posts: posts.map((post) => ({ ...post, stance: null })) };
    return bundle.verdictOf(prefix);
  }

  function keep(key: string, reading: Reading): void {
    readings.delete(key);
    readings.set(key, reading);
    for (const oldest of readings.keys()) {
      if (readings.size <= maxReadings) return;
      readings.delete(oldest);
    }
  }

  return {
    add,
    find,
    /** Whether there was such a thread. */
    delete: (bundle: ServedBundle, id: string) =>
      inTurn(keyOf(bundle, id), (key) => {
        readings.delete(key);
        return store.delete(key);
      }),
  };
}

export type GrowingThreads = ReturnType<typeof growingThreads>;

function keyOf({ name }: ServedBundle, id: string): string {
  return `${name}/${id}`;
}

function kept({ id, time, author, parent, text }: NewPost): KeptPost {
  return { id, time, author, parent, text };
}

function decidedView(options: {
  bundle: ServedBundle;
  id: string;
  outcome: Outcome;
  posts: readonly { readonly id: string }[];
}): ThreadView {
  const { bundle, id, outcome, posts } = options;
  const { stopped, time, hours, shift, verdict, verdictMissing } = outcome;
  const probabilities = new Map(outcome.posts.map((post) => [post.id, post.stopProbability]));
  return {
    threadId: id,
    model: bundle.name,
    bundle: outcome.bundle,
    decision: 'stop',
    stopped,
    post: outcome.posts[outcome.posts.length - 1].id,
    time,
    hours,
    postsUsed: outcome.posts.length,
    posts: posts.map((post) => ({ id: post.id, stopProbability: probabilities.get(post.id) ?? null })),
    shift,
    verdict,
    verdictMissing,
  };
}
