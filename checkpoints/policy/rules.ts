import type { QueryPlan } from './policy.ts';
import { type FieldName, scoreOfPosts } from './state-fields.ts';
import type { Limits } from './stops.ts';

/*
 * Rules decide when to stop without training: a field whose one number is the score, a threshold and a deadline. They
 * are policies like others, so each can be tested, calibrated, exported and served.
 */

/** The part of a rule that distinguishes it from other policies. */
export interface Rule {
  /** The name in tables. */
  readonly name: string;
  readonly field: FieldName;
  readonly threshold: number;
  readonly deadline: Limits['deadline'];
  /** Numbers of posts at which the rule queries the detector, besides the stop. */
  readonly queries: QueryPlan['lengths'];
}

const noDeadline = { posts: null, hours: null };
/** A threshold that no score exceeds. */
const never = 1;
/** A rule stops at its confidence, but a threshold must be exceeded. */
const justBelow = 1e-9;

/** Stops after `count` posts. */
export function firstPosts(count: number): Rule {
  return {
    name: count === 1 ? 'first post' : `first ${count} posts`,
    field: 'share of posts',
    threshold: scoreOfPosts(count - 0.5),
    deadline: noDeadline,
    queries: [],
  };
}

/** Stops at the last post. */
export const allPosts: Rule = { ...firstPosts(1), name: 'all posts', threshold: never };

/** Reads all posts up to a fixed time after the claim (the preset time checkpoints of EARD). */
export function afterHours(hours: number): Rule {
  return { ...allPosts, name: `after ${hours} h`, deadline: { posts: null, hours } };
}

/**
 * Stops at the first prefix that the detector judges with at least this probability (CED's rule, Song et al. 2019).
 * @param queries increasing numbers of posts at which the rule queries the detector
 * @param others the queries of rules that stand beside it, from which its name differs
 */
export function confidentAt(
  confidence: number,
  queries: readonly number[],
  others: readonly (readonly number[])[] = [],
): Rule {
  const isEvery = (lengths: readonly number[]) => lengths.every((length, index) => length === index + 1);
  const queriesAll = isEvery(queries) && !others.some((other) => isEvery(other) && other.length > queries.length);
  return {
    name: `confidence ≥ ${confidence}${queriesAll ? '' : `, asked at ${lengthsInWords(queries, others)}`}`,
    field: 'detector confidence',
    threshold: confidence - justBelow,
    deadline: noDeadline,
    queries,
  };
}

/** Stops when the student reaches this confidence. It costs no query. */
export function studentConfidentAt(confidence: number): Rule {
  return {
    name: `student ≥ ${confidence}`,
    field: 'student confidence',
    threshold: confidence - justBelow,
    deadline: noDeadline,
    queries: [],
  };
}

/** Shortens lengths for a table, `1, 2, 3, 5, 8, …`, but not before the first length that each of the others lacks. */
function lengthsInWords(lengths: readonly number[], others: readonly (readonly number[])[]): string {
  const alike = others.map((other) => lengths.findIndex((length, index) => length !== other[index]));
  const shown = Math.max(5, ...alike.map((index) => index + 1));
  return `${lengths.slice(0, shown).join(', ')}${lengths.length > shown ? ', …' : ''}`;
}
