import { alertOf } from '../../checkpoints/policy/policy.ts';
import type { ThreadOutcome, ThreadView } from '../stop-agent/decide.ts';
import { HttpProblem } from './http-problem.ts';
import { predictionOrReason, type ServedBundle } from './models.ts';
import type { Addition, Place, ThreadAudits } from './thread-audits.ts';
import {
  begun,
  isDecided,
  type NewPost,
  newPosts,
  positionOf,
  readOn,
  type ThreadReading,
  waitUntil,
} from './thread-reading.ts';
import { keptPost, repeated, type ThreadStore } from './thread-store.ts';

/** The place of a thread, and the ids of the posts that an answer shows. */
interface Shown extends Place {
  readonly ids: readonly string[];
}

/**
 * Threads that grow post by post.
 * @param options.maxReadings readings kept by last use; a dropped one is made again from the posts
 * @param options.predictionMs how long a request waits for a detector
 * @param options.now the clock for deadlines
 */
export function growingThreads(options: {
  store: ThreadStore;
  maxReadings: number;
  predictionMs: number;
  now: () => Date;
  audits: ThreadAudits | null;
}) {
  const { store, maxReadings, predictionMs, now, audits } = options;
  const readings = new Map<string, ThreadReading>();
  const turns = new Map<string, Promise<unknown>>();

  /** Works on a thread after what others have begun on it. */
  async function inTurn<T>({ bundle, id }: Omit<Place, 'key'>, work: (place: Place) => Promise<T>): Promise<T> {
    const key = `${bundle.name}/${id}`;
    const start = () => work({ bundle, id, key });
    const turn = (turns.get(key) ?? Promise.resolve()).then(start, start);
    turns.set(key, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(key) === turn) turns.delete(key);
    }
  }

  /** The thread, read up to its last stored post, or its outcome; null for an unknown thread. */
  async function readingOf({
    bundle,
    id,
    key,
  }: Place): Promise<{ outcome: ThreadOutcome } | { reading: ThreadReading; ended: boolean } | null> {
    const cached = readings.get(key);
    const current = cached?.bundle === bundle ? cached : undefined;
    const stored = await store.read(key, current === undefined ? null : positionOf(current));
    if (stored === null || stored.outcome !== null) readings.delete(key);
    if (stored === null) return null;
    if (stored.outcome !== null) return { outcome: stored.outcome };
    const { incarnation, posts, ended } = stored;
    const reading = current?.incarnation === incarnation ? current : begun(bundle, { incarnation, id });
    await readOn(reading, posts);
    if (ended) reading.thread.end();
    waitUntil(reading, now());
    keep(key, reading);
    return { reading, ended };
  }

  /** Reads and stores new posts up to the decision. Null if another server changed the thread. */
  async function addTo(
    present: { reading: ThreadReading; ended: boolean } | null,
    { bundle, id, key, posts, end }: Place & Addition,
  ): Promise<ThreadReading | null> {
    const reading = present?.reading ?? begun(bundle, { incarnation: '', id });
    if (isDecided(reading)) return reading;
    const position = present === null ? null : positionOf(reading);
    const before = reading.posts.length;
    const [first, ...others] = newPosts(reading, posts).map((post) => dated(post, bundle));
    // While this is read and kept, nobody else may go on from the reading.
    readings.delete(key);
    if (first !== undefined) await readOn(reading, [first]);
    waitUntil(reading, now());
    await readOn(reading, others);
    if (reading.posts.length === 0)
      throw new HttpProblem(404, 'a thread begins with its first post, the claim', { field: 'posts' });
    if (end) reading.thread.end();
    const used = reading.posts.length - before;
    const ended = end || present?.ended === true;
    if (used > 0 || ended !== (present?.ended ?? false)) {
      const read = first === undefined ? [] : [first, ...others].slice(0, used);
      const isNew = position === null && first !== undefined;
      const audit = isNew ? ((await audits?.drawn(bundle, { id, claim: first.text })) ?? null) : null;
      const incarnation = await store.append(key, { position, posts: read.map(keptPost), ended, audit });
      if (incarnation === null) return null;
      if (audit !== null) await audits?.opened(audit);
      reading.incarnation = incarnation;
    }
    keep(key, reading);
    return reading;
  }

  /** Deadlines in hours need a clock: a post without a time gets that of its arrival. */
  function dated(post: NewPost, { policy }: ServedBundle): NewPost {
    if (post.time !== null || policy.definition.limits.deadline.hours === null) return post;
    return { ...post, time: now().toISOString() };
  }

  async function view(reading: ThreadReading, place: Shown): Promise<ThreadView> {
    const { bundle, key } = place;
    const { posts: read, outOfDistribution, trainedOn, thread } = reading;
    const { why, postsUsed, hours, scores, queries } = thread.reading();
    const used = read.slice(0, postsUsed);
    const outcome: ThreadOutcome = {
      bundle: bundle.policy.manifest.sha256,
      threshold: bundle.policy.definition.threshold,
      why: why ?? 'end',
      hours,
      time: used[used.length - 1].time,
      outOfDistribution,
      trainedOn,
      posts: used.map((post, index) => ({ id: post.id, score: scores[index] })),
      queries,
      prediction: null,
      predictionMissing: null,
    };
    if (why === null) return { ...decidedView(outcome, place), decision: 'continue', stopped: false, why: null };
    const { hasDetector } = bundle.policy;
    const { isFinal, ...answer } = await predictionOrReason(thread, { hasDetector, timeoutMs: predictionMs });
    const decided = { ...outcome, ...answer, queries: thread.reading().queries };
    if (isFinal) {
      await store.settle(key, { incarnation: reading.incarnation, outcome: decided });
      readings.delete(key);
    }
    return decidedView(decided, place);
  }

  function keep(key: string, reading: ThreadReading): void {
    readings.delete(key);
    readings.set(key, reading);
    for (const oldest of readings.keys()) {
      if (readings.size <= maxReadings) return;
      readings.delete(oldest);
    }
  }

  /**
   * Adds posts. Known ids are answered as before.
   * @param addition.end no post will follow, so a thread that the policy never stops is decided
   * @throws HttpProblem 409 for posts out of order, 503 if nothing more can be stored
   */
  function add(bundle: ServedBundle, { id, ...addition }: Addition & { id: string }): Promise<ThreadView> {
    const ids = addition.posts.map((post) => post.id);
    return inTurn({ bundle, id }, (place) =>
      repeated(id, async () => {
        const reading = await readingOf(place);
        if (reading !== null && 'outcome' in reading) {
          await audits?.follow(place, addition);
          return decidedView(reading.outcome, { ...place, ids });
        }
        const added = await addTo(reading, { ...place, ...addition });
        if (added === null) return null;
        const answer = await view(added, { ...place, ids });
        if (answer.decision === 'stop') await audits?.follow(place, addition);
        return answer;
      }),
    );
  }

  return {
    add,
    /** Null for an unknown thread. Asks for a missing prediction. */
    find: (bundle: ServedBundle, id: string): Promise<ThreadView | null> =>
      inTurn({ bundle, id }, async (place) => {
        const reading = await readingOf(place);
        if (reading === null) return null;
        const idsOf = (posts: readonly { readonly id: string }[]) => posts.map((post) => post.id);
        return 'outcome' in reading
          ? decidedView(reading.outcome, { ...place, ids: idsOf(reading.outcome.posts) })
          : view(reading.reading, { ...place, ids: idsOf(reading.reading.posts) });
      }),
    /** False for an unknown thread. */
    delete: (bundle: ServedBundle, id: string): Promise<boolean> =>
      inTurn({ bundle, id }, async ({ key }) => {
        readings.delete(key);
        await audits?.abandon(key, 'the thread was deleted');
        return store.delete(key);
      }),
    /** Ends a quiet thread to close its audit. If the detector does not answer, the audit is missing. */
    async endQuiet(bundle: ServedBundle, id: string): Promise<void> {
      await add(bundle, { id, posts: [], end: true });
      await inTurn({ bundle, id }, async ({ key }) => audits?.abandon(key, 'the detector did not answer'));
    },
  };
}

export type GrowingThreads = ReturnType<typeof growingThreads>;

function decidedView(outcome: ThreadOutcome, { bundle, id, ids }: Shown): ThreadView {
  const { why, posts, threshold: _, ...decided } = outcome;
  const scores = new Map(posts.map((post) => [post.id, post.score]));
  return {
    threadId: id,
    model: bundle.name,
    ...decided,
    decision: 'stop',
    stopped: why !== 'end',
    why,
    post: posts[posts.length - 1].id,
    postsUsed: posts.length,
    posts: ids.map((post) => ({ id: post, score: scores.get(post) ?? null })),
    ...alertOf(bundle.policy.definition.task, outcome.prediction),
  };
}
