import { hoursBetween } from '../../src/data/iso-time.ts';
import type { SeenJudgement } from '../../src/data/judgement-features.ts';
import { entryOf } from '../../src/entry-of.ts';
import { InputError } from '../../src/errors.ts';
import type { OutOfDistribution } from './out-of-distribution.ts';
import { type DetectorOutput, type PolicyPost, postOf } from './policy-post.ts';
import { columnsOf, type FieldName, readsField, type SeenPost, type StateField, stateReader } from './state-fields.ts';
import { openStops, type Stop, type StopReason, type StopRule } from './stops.ts';

/*
 * A policy decides when to stop: a rule or a trained agent. It reads a thread post by post. After each post its fields
 * make a state, its score is a number for that state, and it stops by its threshold and limits (`stops.ts`). No user of
 * a policy depends on how its score is computed.
 */

/** A label with its probabilities, which are empty if the detector gave a label alone. */
export interface Prediction {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>>;
}

/** The prediction of an output; null if it gives no label. */
export function predictionOf({ label, probabilities }: DetectorOutput): Prediction | null {
  return label === null ? null : { label, probabilities: probabilities ?? {} };
}

/** When the detector is queried, and at which posts the policy acts. */
export interface QueryPlan {
  /** Increasing numbers of posts at which the detector is queried before the stop; empty for the stop alone. */
  readonly lengths: readonly number[];
  /** queried-posts: the policy stops at queried posts only. */
  readonly actsAt: 'every-post' | 'queried-posts';
  /** Posts that the detector reads at most: at a later stop it is queried about this many. */
  readonly maxPosts: number;
}

/** A policy without the sources of its texts, judgements and weights. */
export interface PolicyDefinition extends StopRule {
  readonly task: {
    readonly name: string;
    readonly labels: readonly string[];
    /** The only predictions that stop a thread early; any prediction by default. */
    readonly alerts?: readonly string[] | undefined;
  };
  readonly fields: readonly StateField[];
  readonly queries: QueryPlan;
  /** Scores states, row-major [rows, columns] to [rows], each from 0 to 1. A trained policy's score is π(stop). */
  readonly score: (states: Float32Array) => Float32Array;
}

/** Sources of the data that a policy's fields read. */
export interface PolicySources {
  /** Embeds texts for the field `posts`, row-major [texts, dimensions]; null without an encoder. */
  readonly embed: ((texts: readonly string[]) => Promise<Float32Array>) | null;
  /** Opens a thread. Each call reads a post and returns the probability of each label; null without a student. */
  readonly openStudent: ((threadId: string) => (post: PolicyPost) => Promise<readonly number[]>) | null;
  /** Opens a thread. Each call judges the thread's first posts; null without a detector. */
  readonly openDetector: ((threadId: string) => (posts: readonly PolicyPost[]) => Promise<DetectorOutput>) | null;
}

/** A thread as a policy reads it: the claim, then the replies in time order. */
export interface PolicyThread {
  readonly id?: string;
  readonly posts: readonly (string | PolicyPost)[];
}

/** The state of a policy in a thread. */
export interface Reading {
  /** The reason for the decision; null while the policy reads on. */
  readonly why: StopReason | null;
  /** False while the policy reads on, and if the thread ended first: later posts may change that decision. */
  readonly stopped: boolean;
  /** Posts that the decision is about; while the policy reads on, all posts read. */
  readonly postsUsed: number;
  /** Posts read. A post after the deadline is not read. */
  readonly postsRead: number;
  /** From the claim to the stop, or to the last post read; null if a time is unknown. */
  readonly hours: number | null;
  /** The score at every post read, given that the policy read on before; 0 at posts where it does not act. */
  readonly scores: readonly number[];
  readonly queries: number;
}

/** A thread that is read while it grows. Callers wait for each call before the next. */
export interface OpenThread {
  /** Reads the next post, unless the thread is decided. Every post costs the same, however many came before. */
  read(post: string | PolicyPost): Promise<Reading>;
  /** Reports the time since the claim while no post arrives, so that the deadline counts. */
  wait(hours: number): Reading;
  /** Ends the thread. @throws InputError if no post was read */
  end(): Reading;
  reading(): Reading;
  /**
   * The detector's prediction from the posts used; null without a label or a detector. It queries the detector unless
   * its last query was about these posts.
   */
  predict(): Promise<Prediction | null>;
}

export interface PolicyDecision extends Reading {
  readonly prediction: Prediction | null;
  /** How far the claim lies from those that the policy knows; null if unknown. */
  readonly outOfDistribution: OutOfDistribution | null;
  /** Whether the policy learned from this thread, so the decision is no evidence about others; null without an id. */
  readonly trainedOn: boolean | null;
}

export function threadReader(definition: PolicyDefinition, sources: PolicySources) {
  const open = (threadId = ''): OpenThread => openThread(definition, sources, threadId);
  return {
    open,
    /** Reads a thread to the stop or to its end. @throws InputError for a thread without posts */
    async decide(input: PolicyThread): Promise<Omit<PolicyDecision, 'outOfDistribution' | 'trainedOn'>> {
      // Callers without types may pass anything.
      if (!Array.isArray(input?.posts)) throw new InputError('posts must be a list: [{ text }, …]');
      const posts = input.posts.map(postOf);
      const thread = open(input.id);
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
   * The score of a post at which the detector failed when it was queried about an alert. Reading the same post again
   * settles the score; another post means that the policy read on.
   */
  let unsettled: number | null = null;

  const reading = () => readingOf({ stop, hours, scores, queries: queried() });
  const settle = (postScore: number, { isHeld }: { isHeld: boolean }) => {
    unsettled = null;
    scores.push(postScore);
    stop = stops.afterPost({ score: isHeld ? 0 : postScore, hours });
  };
  const queryUpTo = (length: number) => query(posts, Math.min(length, queries.maxPosts));
  const mayStop = async () =>
    task.alerts === undefined || task.alerts.includes((await queryUpTo(posts.length)).label ?? '');
  return {
    async read(next) {
      if (stop !== null) return reading();
      const post = postOf(next);
      const { text, time } = posts[posts.length - 1] ?? {};
      const isAgain = unsettled !== null && post.text === text && post.time === time;
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
          // The failed query can be repeated: the post counts as not read.
          posts.pop();
          throw error;
        }
        const acts = queries.actsAt === 'every-post' || isQueried(posts.length);
        unsettled = acts ? score(state)[0] : 0;
      }
      const postScore = unsettled ?? 0;
      settle(postScore, { isHeld: postScore > definition.threshold && !(await mayStop()) });
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
      return predictionOf(await queryUpTo(reading().postsUsed));
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

/** The sources of a policy for one thread. The detector is queried at most once about each number of posts. */
function threadSources({ task, fields, queries }: PolicyDefinition, sources: PolicySources, threadId: string) {
  const reads = (name: FieldName) => readsField(fields, name);
  const readsStudent = reads('student') || reads('student confidence');
  const student = readsStudent ? sources.openStudent?.(threadId) : undefined;
  const detector = sources.openDetector?.(threadId);
  const lengths = new Set(queries.lengths);
  const isQueried = (length: number) => lengths.has(length);
  const outputs = new Map<number, Promise<DetectorOutput>>();

  /** A query under way is shared. A failed one is forgotten, so that it can be repeated. */
  function query(posts: readonly PolicyPost[], length: number): Promise<DetectorOutput> {
    const earlier = outputs.get(length);
    if (earlier !== undefined) return earlier;
    // Callers without types may answer at once.
    const output = Promise.resolve(atHand(detector, needsDetector)(posts.slice(0, length)));
    outputs.set(length, output);
    output.catch(() => outputs.delete(length));
    return output;
  }
  return {
    hasDetector: detector !== undefined,
    isQueried,
    query,
    queried: () => outputs.size,
    /** Collects the input of the fields at the last of `posts`. */
    async see(posts: readonly PolicyPost[], hours: number | null): Promise<SeenPost> {
      const post = posts[posts.length - 1];
      return {
        hours,
        judgement: isQueried(posts.length) ? seenJudgement(await query(posts, posts.length), task.labels) : null,
        embedding: reads('posts') ? await atHand(sources.embed, needsEncoder)([post.text]) : null,
        student: readsStudent ? await atHand(student, needsStudent)(post) : null,
      };
    },
  };
}

function atHand<Source>(source: Source | null | undefined, problem: string): Source {
  if (source === null || source === undefined) throw new InputError(problem);
  return source;
}

const needsEncoder = 'this policy embeds posts, and its encoder is not at hand; give `embed`';
const needsStudent = 'this policy reads a student, and that is not at hand';
const needsDetector =
  'this policy queries its detector while it reads, and none is at hand; give `judge` to loadPolicy, or name a detector file';

/** Converts an output to the form that states read. Probabilities are rounded to 32 bits, as in stored judgements. */
export function seenJudgement({ label, probabilities }: DetectorOutput, labels: readonly string[]): SeenJudgement {
  return {
    label: labels.indexOf(label ?? ''),
    probabilities: probabilities && labels.map((name) => Math.fround(entryOf(probabilities, name) ?? 0)),
  };
}

/** Whether a decision raises an alert; empty for a task without alerts. */
export function alertOf(
  { alerts }: Pick<PolicyDefinition['task'], 'alerts'>,
  prediction: Prediction | null,
): { alert?: boolean } {
  return alerts === undefined ? {} : { alert: prediction !== null && alerts.includes(prediction.label) };
}
