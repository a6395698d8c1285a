import { lastJudgementFeatures } from '../../src/data/last-judgement.ts';
import type { Golden } from './golden.ts';
import type { Manifest } from './manifest.ts';

/*
 * A detector-aware agent sees what its detector last said: the detector is asked at listed posts until the agent stops, and at the stop
 * unless it was just asked there.
 */

/** What a detector says. */
export interface DetectorOutput {
  /** Null where it gives none. */
  readonly label: string | null;
  /** Of every label; null where it gives none. */
  readonly probabilities: Readonly<Record<string, number>> | null;
}

export interface Verdict {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>>;
}

/** A detector that gives no label gives no verdict. */
export function verdictOfOutput({ label, probabilities }: DetectorOutput): Verdict | null {
  return label === null ? null : { label, probabilities: probabilities ?? {} };
}

/** When the detector is asked, and where the agent acts. */
export interface QueryPlan {
  /** Numbers of posts at which the detector is asked until the agent stops, increasing. */
  readonly queriedLengths: readonly number[];
  readonly actsAt: 'every-post' | 'queried-posts';
  /** The detector reads no further: at a later stop it is asked about this many posts. */
  readonly maxPosts: number;
}

export interface DetectorAwareDecision {
  /** 0-based; the last post where the agent never stops. */
  readonly stopStep: number;
  readonly stopped: boolean;
  /** π(stop) at every post up to the stop; 0 where the agent does not act. Later ones would need further judgements. */
  readonly stopProbability: Float32Array;
  /** What the detector said of the posts up to the stop. */
  readonly said: DetectorOutput;
  /** How often it was asked. */
  readonly calls: number;
}

/** Decides a thread as it comes in, asking the detector on the way. */
export async function decideDetectorAware<Post>(
  posts: readonly Post[],
  options: {
    queryPlan: QueryPlan;
    /** π(stop) above which it stops. */
    threshold: number;
    judge: (posts: readonly Post[]) => Promise<DetectorOutput>;
    /** π(stop) at each of the first posts, given what was said of them; [outputs.length]. */
    probabilities: (outputs: readonly (DetectorOutput | undefined)[]) => Promise<Float32Array>;
  },
): Promise<DetectorAwareDecision> {
  const { queryPlan, threshold, judge, probabilities } = options;
  const said = new Map<number, DetectorOutput>();
  const ask = async (length: number) => {
    const known = said.get(length) ?? (await judge(posts.slice(0, length)));
    said.set(length, known);
    return known;
  };
  const lengths = queryPlan.queriedLengths.filter((length) => length <= posts.length);
  let stopProbability: Float32Array = new Float32Array(0);
  let stop = -1;
  for (const from of lengths[0] === 1 ? lengths : [1, ...lengths]) {
    if (lengths.includes(from)) await ask(from);
    const until = (lengths.find((length) => length > from) ?? posts.length + 1) - 1;
    const outputs = Array.from({ length: until }, (_, index) => said.get(index + 1));
    stopProbability = actedUpon(await probabilities(outputs), queryPlan);
    stop = stopProbability.findIndex((probability) => probability > threshold);
    if (stop >= 0) break;
  }
  const stopStep = stop < 0 ? posts.length - 1 : stop;
  const last = await ask(Math.min(stopStep + 1, queryPlan.maxPosts));
  stopProbability = stopProbability.slice(0, stopStep + 1);
  return { stopStep, stopped: stop >= 0, stopProbability, said: last, calls: said.size };
}

/**
 * The probabilities with 0 where the agent does not act.
 * @param queryPlan null or undefined for an agent that does not see its detector
 * @param before posts of the thread that come before those of the probabilities
 */
export function actedUpon(
  stopProbability: Float32Array,
  queryPlan: QueryPlan | null | undefined,
  before = 0,
): Float32Array {
  if (queryPlan?.actsAt !== 'queried-posts') return stopProbability;
  const queried = new Set(queryPlan.queriedLengths);
  return stopProbability.map((probability, index) => (queried.has(before + index + 1) ? probability : 0));
}

/** A function that reads the posts of a thread one by one and says what the detector says where it is asked. */
export function outputWhenQueried<Post>(
  read: (post: Post) => DetectorOutput,
  queryPlan: QueryPlan,
): (post: Post) => DetectorOutput | undefined {
  const queried = new Set(queryPlan.queriedLengths);
  let posts = 0;
  return (post) => {
    posts++;
    const said = read(post);
    return queried.has(posts) ? said : undefined;
  };
}

/** The numbers that the judgements add to the states, row-major [posts, labels + 3]; none where the agent does not see its detector. */
export function observedFeatures(
  outputs: readonly (DetectorOutput | undefined)[],
  { task, state }: Manifest,
): Float32Array {
  const queryPlan = state.queryPlan ?? null;
  if (queryPlan === null) return new Float32Array(0);
  const { labels } = task;
  const probabilities = new Float32Array(outputs.length * labels.length).fill(Number.NaN);
  for (const [index, said] of outputs.entries())
    for (const [label, name] of labels.entries())
      probabilities[index * labels.length + label] = said?.probabilities?.[name] ?? Number.NaN;
  const predicted = outputs.map((said) => labels.indexOf(said?.label ?? ''));
  const { queriedLengths } = queryPlan;
  return lastJudgementFeatures(
    { predicted, probabilities },
    { labels: labels.length, queriedLengths, posts: outputs.length },
  );
}

/** The detector of a golden thread: it says what it said when the bundle was made. */
export function recordedOutputs(
  { judgements }: Golden,
  labels: readonly string[],
): ((posts: readonly unknown[]) => Promise<DetectorOutput>) | undefined {
  if (judgements === undefined) return undefined;
  return async (posts) => {
    const said = judgements.find((own) => own.posts === posts.length);
    const { label = null, probabilities = null } = said ?? {};
    return {
      label,
      probabilities: probabilities && Object.fromEntries(labels.map((name, index) => [name, probabilities[index]])),
    };
  };
}
