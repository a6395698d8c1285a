import { hoursBetween } from '../../src/data/hours-between.ts';
import type { SeenJudgement } from '../../src/data/last-judgement.ts';
import { entryOf } from '../../src/entry-of.ts';
import { InputError } from '../../src/errors.ts';
import type { OutOfDistribution } from './out-of-distribution.ts';
import { type PolicyPost, postOf } from './policy-post.ts';
import { columnsOf, type SeenPost, type StateField, stateReader } from './state-fields.ts';
import { openStops, type Stop, type StopReason, type StopRule } from './stops.ts';

/*
 * Whatever decides when to stop: a rule, or an agent that was trained. A policy reads a thread post by post. After each post its
 * fields make a state, its score is a number for that state, and it stops by its threshold and its limits (`stops.ts`). Nothing that
 * uses a policy asks how its score came about.
 */

/** What a detector says of a prefix. */
export interface DetectorOutput {
  /** Null where it gives none. */
  readonly label: string | null;
  /** Of every label; null where it gives none. */
  readonly probabilities: Readonly<Record<string, number>> | null;
}

/** A label with its probabilities; none where the detector gave no label alone. */
export interface Prediction {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>>;
}

/** When the detector is queried, and where the policy acts. */
export interface QueryPlan {
  /** Numbers of posts at which the detector is queried until the policy stops, increasing; none for a query at the stop alone. */
  readonly lengths: readonly number[];
  /** queried-posts: the policy stops at these posts and at no other. */
  readonly actsAt: 'every-post' | 'queried-posts';
  /** The detector reads no further: at a later stop it is queried about this many posts. */
  readonly maxPosts: number;
}

/** All that decides, apart from where texts, judgements and weights come from. */
export interface PolicyDefinition extends StopRule {
  readonly task: {
    readonly name: string;
    readonly labels: readonly string[];
    /** The policy stops early with these predictions alone; with any unless given. */
    readonly alerts?: readonly string[] | undefined;
  };
  readonly fields: readonly StateField[];
  readonly queries: QueryPlan;
  /** Scores of states, row-major [rows, columns]; [rows], each from 0 to 1. A learnt policy's is π(stop). */
  readonly score: (states: Float32Array) => Float32Array;
}

/** Where a policy gets what its fields read. */
export interface PolicySources {
  /** Embeddings of texts as the field `posts` reads them, row-major [texts, dimensions]; null where there is no encoder. */
  readonly embed: ((texts: readonly string[]) => Promise<Float32Array>) | null;
  /** Begins a thread: each call takes the next post and returns the probability of each label; null without a student. */
  readonly openStudent: ((threadId: string) => (post: PolicyPost) => Promise<readonly number[]>) | null;
  /** Begins a thread: what the detector says of its first posts; null where no detector is at hand. */
  readonly openDetector: ((threadId: string) => (posts: readonly PolicyPost[]) => Promise<DetectorOutput>) | null;
}

/** A thread, as far as a policy reads it: the claim, then the replies in time order. */
export interface PolicyThread {
  readonly id?: string;
  readonly posts: readonly (string | PolicyPost)[];
}

/** Where a policy stands in a thread. */
export interface Reading {
  /** Why it is decided; null while the policy reads on. */
  readonly why: StopReason | null;
  /** False while the policy reads on, and where the thread ended first: then further posts may change the decision. */
  readonly stopped: boolean;
  /** Posts that the decision is about; while the policy reads on, those that it has read. */
  readonly postsUsed: number;
  /** A post that came too late is not read. */
  readonly postsRead: number;
  /** From the claim to the stop, or to the last post read; null where a time is unknown. */
  readonly hours: number | null;
  /** At every post read, given that the policy read on before; 0 where it does not act. */
  readonly scores: readonly number[];
  /** How often the detector was queried. */
  readonly queries: number;
}

/** A thread that is read as it grows. One call at a time. */
export interface OpenThread {
  /** Reads the next post, unless the thread is decided. Each post costs the same, however many came before it. */
  read(post: string | PolicyPost): Promise<Reading>;
  /** Tells the policy how late it is where no post has come, so that its deadline counts. */
  wait(hours: number): Reading;
  /** No post will come. @throws InputError where none was read */
  end(): Reading;
  reading(): Reading;
  /**
   * What the detector says of the posts used; null where it gives no label or none is at hand. Queries it unless it was just
   * queried there.
   */
  predict(): Promise<Prediction | null>;
}

export interface PolicyDecision extends Reading {
  readonly prediction: Prediction | null;
  /** How unlike the threads that the policy knows this one is; null where that is not known. */
  readonly outOfDistribution: OutOfDistribution | null;
  /** Whether the policy learnt from this thread, so that it says nothing of other threads; null for a thread without an id. */
  readonly trainedOn: boolean | null;
}

/** A policy that can read threads. */
export interface ThreadReader {
  open(threadId?: string): OpenThread;
  /** Reads a thread to the stop or to its end. @throws InputError for a thread without posts */
  decide(thread: PolicyThread): Promise<Omit<PolicyDecision, 'outOfDistribution' | 'trainedOn'>>;
}

/** Reads threads post by post. */
export function threadReader(definition: PolicyDefinition, sources: PolicySources): ThreadReader {
  const open = (threadId = ''): OpenThread => openThread(definition, sources, threadId);
  return {
    open,
    async decide(given) {
      // Callers without types give what they have.
      if (!Array.isArray(given?.posts)) throw new InputError('posts must be a list: [{ text }, …]');
      const posts = given.posts.map(postOf);
      const thread = open(given.id);
      for (const post of posts) if ((await thread.read(post)).why !== null) break;
      thread.end();
      const prediction = await thread.predict();
      return { ...thread.reading(), prediction };
    },
  };
}

function openThread(definition: PolicyDefinition, sources: PolicySources, threadId: string): OpenThread {
  const { task, fields, queries, score } = definition;
  const { hasDetector, isQueried, query, queried, see } = threadSources(definition, sources, threadId);
  const stops = openStops(definition);
  const writeState = stateReader(fields);
  const state = new Float32Array(columnsOf(fields));
  const posts: PolicyPost[] = [];
  const scores: number[] = [];
  let hours: number | null = null;
  let stop: Stop | null = null;
  /**
   * The score of a post whose detector failed when it was asked whether the policy may stop there. The same post settles it when it
   * is read again; where another one comes, the policy has read on.
   */
  let unsettled: number | null = null;

  const reading = () => readingOf({ stop, hours, scores, queries: queried() });
  const settle = (own: number, { isHeld }: { isHeld: boolean }) => {
    unsettled = null;
    scores.push(own);
    stop = stops.afterPost({ score: isHeld ? 0 : own, hours });
  };
  const queryUpTo = (length: number) => query(posts, Math.min(length, queries.maxPosts));
  const mayStop = async () =>
    task.alerts === undefined || task.alerts.includes((await queryUpTo(posts.length)).label ?? '');
  return {
    async read(given) {
      if (stop !== null) return reading();
      const post = postOf(given);
      const isAgain = unsettled !== null && isSame(post, posts[posts.length - 1]);
      if (unsettled !== null && !isAgain) settle(unsettled, { isHeld: true });
      if (!isAgain) {
        const now = hoursBetween((posts[0] ?? post).time ?? null, post.time ?? null);
        stop ??= stops.beforePost(now);
        if (stop !== null) return reading();
        hours = now;
        posts.push(post);
        try {
          writeState(await see(posts, hours), state);
        } catch (error) {
          // What could not be asked can be asked again: the post counts as not read.
          posts.pop();
          throw error;
        }
        const acts = queries.actsAt === 'every-post' || isQueried(posts.length);
        unsettled = acts ? score(state)[0] : 0;
      }
      const own = unsettled ?? 0;
      settle(own, { isHeld: own > definition.threshold && !(await mayStop()) });
      return reading();
    },
    wait(now) {
      stop ??= stops.atTime(now);
      return reading();
    },
    end() {
      if (posts.length === 0) throw new InputError('a thread needs at least one post, the claim');
      stop ??= stops.atEnd();
      return reading();
    },
    reading,
    async predict() {
      if (!hasDetector) return null;
      const { label, probabilities } = await queryUpTo(reading().postsUsed);
      return label === null ? null : { label, probabilities: probabilities ?? {} };
    },
  };
}

function readingOf(at: {
  stop: Stop | null;
  hours: number | null;
  scores: readonly number[];
  queries: number;
}): Reading {
  const { stop, hours, scores, queries } = at;
  return {
    why: stop?.why ?? null,
    stopped: stop !== null && stop.why !== 'end',
    postsUsed: stop?.postsUsed ?? scores.length,
    postsRead: scores.length,
    hours: stop === null ? hours : stop.hours,
    scores: scores.slice(0, stop?.postsUsed),
    queries,
  };
}

/** The sources of a policy for one thread. The detector is queried about each number of its posts once. */
function threadSources({ task, fields, queries }: PolicyDefinition, sources: PolicySources, threadId: string) {
  const reads = (name: StateField['name']) => fields.some((field) => field.name === name);
  const readsStudent = reads('student') || reads('student confidence');
  const student = readsStudent ? sources.openStudent?.(threadId) : undefined;
  const detector = sources.openDetector?.(threadId);
  const lengths = new Set(queries.lengths);
  const isQueried = (length: number) => lengths.has(length);
  const outputs = new Map<number, DetectorOutput>();

  async function query(posts: readonly PolicyPost[], length: number): Promise<DetectorOutput> {
    const cached = outputs.get(length);
    if (cached !== undefined) return cached;
    if (detector === undefined) throw new InputError(needsDetector);
    const output = await detector(posts.slice(0, length));
    outputs.set(length, output);
    return output;
  }
  async function embeddingOf({ text }: PolicyPost) {
    if (sources.embed === null)
      throw new InputError('this policy embeds posts, and its encoder is not at hand; give `embed`');
    return sources.embed([text]);
  }
  async function studentOf(post: PolicyPost) {
    if (student === undefined) throw new InputError('this policy reads a student, and that is not at hand');
    return student(post);
  }
  return {
    hasDetector: detector !== undefined,
    isQueried,
    query,
    /** How often the detector was queried. */
    queried: () => outputs.size,
    /** What the fields read at the last of some posts. */
    async see(posts: readonly PolicyPost[], hours: number | null): Promise<SeenPost> {
      const post = posts[posts.length - 1];
      return {
        hours,
        judgement: isQueried(posts.length) ? seenJudgement(await query(posts, posts.length), task.labels) : null,
        embedding: reads('posts') ? await embeddingOf(post) : null,
        student: readsStudent ? await studentOf(post) : null,
      };
    },
  };
}

const needsDetector =
  'this policy queries its detector while it reads, and none is at hand; give `judge` to loadPolicy, or name a detector file';

function isSame(post: PolicyPost, other: PolicyPost): boolean {
  return post.text === other.text && post.time === other.time;
}

/** An output as states read it. Probabilities are those of 32 bits that judgements are kept in. */
export function seenJudgement({ label, probabilities }: DetectorOutput, labels: readonly string[]): SeenJudgement {
  return {
    label: labels.indexOf(label ?? ''),
    probabilities: probabilities && labels.map((name) => Math.fround(entryOf(probabilities, name) ?? 0)),
  };
}

/** Whether a decision raises an alert; nothing where no label of the task does. */
export function alertOf(
  { alerts }: Pick<PolicyDefinition['task'], 'alerts'>,
  prediction: Prediction | null,
): { alert?: boolean } {
  return alerts === undefined ? {} : { alert: prediction !== null && alerts.includes(prediction.label) };
}
