import type { PolicyDefinition, QueryPlan } from './policy.ts';
import { columnsOf, type SeenPost, stateReader } from './state-fields.ts';
import { type Stop, stopIn } from './stops.ts';

/** A policy's reading of a whole thread. */
export interface Replay {
  readonly stop: Stop;
  /** The score at every post, also after the stop; 0 at posts where the policy does not act. */
  readonly scores: Float32Array;
  readonly queries: number;
}

/**
 * Finds the stop of a policy in a thread whose data are all known. The result equals reading it post by post.
 * @param posts may have a judgement for every post; the policy sees only those that it would have queried
 */
export function replay(definition: PolicyDefinition, posts: readonly SeenPost[]): Replay {
  const { task, queries, limits, score, threshold } = definition;
  const read = posts.slice(0, limits.maxPosts);
  const scores = actingScores(score(policyStates(definition, read)), queries);
  const labelAt = (length: number) => task.labels[posts[length - 1]?.judgement?.label ?? -1] ?? null;
  const counting = alertingScores(scores, { task, queries, labelAt });
  const stop = stopIn(
    definition,
    read.map(({ hours }, index) => ({ score: counting[index], hours })),
  );
  const scoresRead = task.alerts === undefined ? [] : scores.subarray(0, stop.postsUsed);
  const checked = [...scoresRead.keys()].flatMap((index) => (scoresRead[index] > threshold ? [index + 1] : []));
  return { stop, scores, queries: queriesUntil({ ...queries, checked }, stop.postsUsed) };
}

/** Sets scores to 0 where the prediction raises no alert, so that no threshold stops there. */
export function alertingScores(
  scores: Float32Array,
  options: Pick<PolicyDefinition, 'task'> & {
    queries: Pick<QueryPlan, 'maxPosts'>;
    /** The detector's label for the first `length` posts; null for none. */
    labelAt: (length: number) => string | null;
  },
): Float32Array {
  const { task, queries, labelAt } = options;
  const { alerts } = task;
  if (alerts === undefined) return scores;
  return scores.map((score, index) =>
    alerts.includes(labelAt(Math.min(index + 1, queries.maxPosts)) ?? '') ? score : 0,
  );
}

/** The state after each post, row-major [posts, columns], without judgements that the policy does not query. */
export function policyStates(
  { fields, queries }: Pick<PolicyDefinition, 'fields' | 'queries'>,
  posts: readonly SeenPost[],
): Float32Array {
  const columns = columnsOf(fields);
  const isQueried = new Set(queries.lengths);
  const states = new Float32Array(posts.length * columns);
  const writeState = stateReader(fields);
  for (const [index, post] of posts.entries())
    writeState(
      isQueried.has(index + 1) ? post : { ...post, judgement: null },
      states.subarray(index * columns, (index + 1) * columns),
    );
  return states;
}

/** Sets the scores of posts at which the policy does not act to 0. */
export function actingScores(scores: Float32Array, { actsAt, lengths }: QueryPlan): Float32Array {
  if (actsAt === 'every-post') return scores;
  const queried = new Set(lengths);
  return scores.map((score, index) => (queried.has(index + 1) ? score : 0));
}

/**
 * Counts the detector's queries up to a stop: the planned ones and the one at the stop.
 * @param plan.checked numbers of posts at which the score exceeded the threshold and the prediction was checked for an
 *   alert
 */
export function queriesUntil(
  { lengths, maxPosts, checked = [] }: QueryPlan & { checked?: readonly number[] },
  postsUsed: number,
): number {
  const judged = Math.min(postsUsed, maxPosts);
  const planned = lengths.filter((length) => length <= judged);
  if (checked.length === 0) return planned.length + (planned.at(-1) === judged ? 0 : 1);
  return new Set([...planned, ...checked.map((length) => Math.min(length, judged)), judged]).size;
}
