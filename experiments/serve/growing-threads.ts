import { alertOf } from '../../checkpoints/policy/policy.ts';
import type { Prefix } from '../../src/data/thread.ts';
import type { ThreadOutcome, ThreadView } from '../stop-agent/decide.ts';
import { HttpProblem } from './http-problem.ts';
import type { Asked, ServedBundle } from './models.ts';
import type { ThreadAudits } from './thread-audits.ts';
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

export class GrowingThreads {
  private readonly store: ThreadStore;
  private readonly maxReadings: number;
  private readonly now: () => Date;
  private readonly audits: ThreadAudits | null;
  /** Readings by last use. A dropped reading is made again from the posts. */
  private readonly readings = new Map<string, ThreadReading>();
  private readonly turns = new Map<string, Promise<unknown>>();

  /** @param options.now the clock for deadlines */
  constructor(options: { store: ThreadStore; maxReadings: number; now: () => Date; audits: ThreadAudits | null }) {
    this.store = options.store;
    this.maxReadings = options.maxReadings;
    this.now = options.now;
    this.audits = options.audits;
  }

  /**
   * Adds posts. Known ids are answered as before.
   * @param options.end no post will follow, so a thread that the policy never stops is decided
   * @throws HttpProblem 409 for posts out of order, 503 if nothing more can be stored
   */
  add(
    bundle: ServedBundle,
    { id, posts, end }: { id: string; posts: readonly NewPost[]; end: boolean },
  ): Promise<ThreadView> {
    return this.inTurn(keyOf(bundle, id), async (key) => {
      return repeated(id, async () => {
        const reading = await this.readingOf(bundle, { id, key });
        if (reading !== null && 'outcome' in reading) {
          await this.audits?.follow({ bundle, id, key }, { posts, end });
          return decidedView({ bundle, id, outcome: reading.outcome, posts });
        }
        const added = await this.addTo(reading, { bundle, id, key, posts, end });
        if (added === null) return null;
        const answer = await this.view(added, { bundle, id, key, ids: posts.map((post) => post.id) });
        if (answer.decision === 'stop') await this.audits?.follow({ bundle, id, key }, { posts, end });
        return answer;
      });
    });
  }

  /** Null for an unknown thread. Asks for a missing prediction. */
  find(bundle: ServedBundle, id: string): Promise<ThreadView | null> {
    return this.inTurn(keyOf(bundle, id), async (key) => {
      const reading = await this.readingOf(bundle, { id, key });
      if (reading === null) return null;
      if ('outcome' in reading) {
        const { outcome } = reading;
        return decidedView({ bundle, id, outcome, posts: outcome.posts });
      }
      const ids = reading.reading.posts.map((post) => post.id);
      return this.view(reading.reading, { bundle, id, key, ids });
    });
  }

  private async inTurn<T>(key: string, work: (key: string) => Promise<T>): Promise<T> {
    const before = this.turns.get(key);
    const turn = (before ?? Promise.resolve()).then(
      () => work(key),
      () => work(key),
    );
    this.turns.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.turns.get(key) === turn) this.turns.delete(key);
    }
  }

  /** The thread, read up to its last stored post, or its outcome; null for an unknown thread. */
  private async readingOf(
    bundle: ServedBundle,
    { id, key }: { id: string; key: string },
  ): Promise<{ outcome: ThreadOutcome } | { reading: ThreadReading; ended: boolean } | null> {
    const cached = this.readings.get(key);
    const current = cached?.bundle === bundle.sha256 ? cached : undefined;
    const stored = await this.store.read(key, current === undefined ? null : positionOf(current));
    if (stored === null || stored.outcome !== null) this.readings.delete(key);
    if (stored === null) return null;
    if (stored.outcome !== null) return { outcome: stored.outcome };
    const reading =
      current?.incarnation === stored.incarnation ? current : begun(bundle, { incarnation: stored.incarnation, id });
    await readOn(reading, stored.posts);
    if (stored.ended) reading.thread.end();
    waitUntil(reading, this.now());
    this.keep(key, reading);
    return { reading, ended: stored.ended };
  }

  /** Reads and stores new posts up to the decision. Null if another server changed the thread. */
  private async addTo(
    present: { reading: ThreadReading; ended: boolean } | null,
    options: { bundle: ServedBundle; id: string; key: string; posts: readonly NewPost[]; end: boolean },
  ): Promise<ThreadReading | null> {
    const { bundle, id, key, posts, end } = options;
    const reading = present?.reading ?? begun(bundle, { incarnation: '', id });
    if (isDecided(reading)) return reading;
    const position = present === null ? null : positionOf(reading);
    const before = reading.posts.length;
    const [first, ...others] = newPosts(reading, posts).map((post) => this.dated(post, bundle));
    // While this is read and kept, nobody else may go on from the reading.
    this.readings.delete(key);
    if (first !== undefined) await readOn(reading, [first]);
    waitUntil(reading, this.now());
    await readOn(reading, others);
    if (reading.posts.length === 0)
      throw new HttpProblem(404, 'a thread begins with its first post, the claim', { field: 'posts' });
    if (end) reading.thread.end();
    const used = reading.posts.length - before;
    const ended = end || present?.ended === true;
    if (used > 0 || ended !== (present?.ended ?? false)) {
      const read = first === undefined ? [] : [first, ...others].slice(0, used);
      const isNew = position === null && first !== undefined;
      const audit = isNew ? ((await this.audits?.drawn(bundle, { id, claim: first.text })) ?? null) : null;
      const incarnation = await this.store.append(key, { position, posts: read.map(keptPost), ended, audit });
      if (incarnation === null) return null;
      if (audit !== null) await this.audits?.opened(audit);
      reading.incarnation = incarnation;
    }
    this.keep(key, reading);
    return reading;
  }

  /** Deadlines in hours need a clock: a post without a time gets that of its arrival. */
  private dated(post: NewPost, { policy }: ServedBundle): NewPost {
    if (post.time !== null || policy.definition.limits.deadline.hours === null) return post;
    return { ...post, time: this.now().toISOString() };
  }

  private async view(
    reading: ThreadReading,
    { bundle, id, key, ids }: { bundle: ServedBundle; id: string; key: string; ids: readonly string[] },
  ): Promise<ThreadView> {
    const { posts: read, outOfDistribution, trainedOn, thread } = reading;
    const { why, postsUsed, hours, scores, queries } = thread.reading();
    const used = read.slice(0, postsUsed);
    const outcome: ThreadOutcome = {
      bundle: bundle.sha256,
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
    const posts = ids.map((post) => ({ id: post }));
    if (why === null)
      return { ...decidedView({ bundle, id, outcome, posts }), decision: 'continue', stopped: false, why: null };
    const answer = await this.predictionOf({ bundle, id, key, postsUsed });
    // The query at the stop, unless the policy queried there while it read.
    const isNew = answer.said.prediction !== null && !wasQueriedAt(bundle, { postsUsed, scores });
    const decided = { ...outcome, ...answer.said, queries: queries + Number(isNew) };
    if (answer.isFinal) {
      await this.store.settle(key, { incarnation: reading.incarnation, outcome: decided });
      this.readings.delete(key);
    }
    return decidedView({ bundle, id, outcome: decided, posts });
  }

  private async predictionOf(options: {
    bundle: ServedBundle;
    id: string;
    key: string;
    postsUsed: number;
  }): Promise<Asked> {
    const { bundle, id, key, postsUsed } = options;
    const posts = ((await this.store.read(key, null))?.posts ?? []).slice(0, postsUsed);
    // Expired or deleted a moment ago: the decision stands, but what it was about is gone.
    if (posts.length === 0)
      return { isFinal: false, said: { prediction: null, predictionMissing: 'the thread was deleted or has expired' } };
    const prefix: Prefix = { threadId: id, posts: posts.map((post) => ({ ...post, stance: null })) };
    return bundle.predictionOf(prefix);
  }

  private keep(key: string, reading: ThreadReading): void {
    this.readings.delete(key);
    this.readings.set(key, reading);
    for (const oldest of this.readings.keys()) {
      if (this.readings.size <= this.maxReadings) return;
      this.readings.delete(oldest);
    }
  }

  /** False for an unknown thread. */
  delete(bundle: ServedBundle, id: string): Promise<boolean> {
    return this.inTurn(keyOf(bundle, id), async (key) => {
      this.readings.delete(key);
      await this.audits?.abandon(key, 'the thread was deleted');
      return this.store.delete(key);
    });
  }

  /** Ends a quiet thread to close its audit. If the detector does not answer, the audit is missing. @param key of the store */
  async endQuiet(bundle: ServedBundle, key: string): Promise<void> {
    const id = key.slice(bundle.name.length + 1);
    await this.add(bundle, { id, posts: [], end: true });
    await this.inTurn(key, async () => this.audits?.abandon(key, 'the detector did not answer'));
  }
}

function keyOf({ name }: ServedBundle, id: string): string {
  return `${name}/${id}`;
}

/** True for a planned query, or one that checked for an alert. */
function wasQueriedAt(
  { policy }: ServedBundle,
  { postsUsed, scores }: { postsUsed: number; scores: readonly number[] },
): boolean {
  const { task, threshold, queries } = policy.definition;
  const isChecked = task.alerts !== undefined && scores[postsUsed - 1] > threshold;
  return isChecked || queries.lengths.includes(Math.min(postsUsed, queries.maxPosts));
}

function decidedView(options: {
  bundle: ServedBundle;
  id: string;
  outcome: ThreadOutcome;
  posts: readonly { readonly id: string }[];
}): ThreadView {
  const { bundle, id, outcome, posts } = options;
  const { why, time, hours, outOfDistribution, trainedOn, queries, prediction, predictionMissing } = outcome;
  const scores = new Map(outcome.posts.map((post) => [post.id, post.score]));
  return {
    threadId: id,
    model: bundle.name,
    bundle: outcome.bundle,
    decision: 'stop',
    stopped: why !== 'end',
    why,
    post: outcome.posts[outcome.posts.length - 1].id,
    time,
    hours,
    postsUsed: outcome.posts.length,
    posts: posts.map((post) => ({ id: post.id, score: scores.get(post.id) ?? null })),
    outOfDistribution,
    trainedOn,
    queries,
    prediction,
    predictionMissing,
    ...alertOf(bundle.policy.definition.task, prediction),
  };
}
