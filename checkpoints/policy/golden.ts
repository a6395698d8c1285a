import * as z from 'zod/mini';
import { InputError } from '../../src/errors.ts';
import { bundleFiles } from './manifest.ts';
import type { StopRule } from './stops.ts';

/** Largest difference between two scores that still counts as rounding. */
export const tolerance = 1e-5;

/** A golden thread: the policy of the run decided it at the export, and every reader of a bundle decides it again. */
export const goldenSchema = z.object({
  threadId: z.string(),
  texts: z.array(z.string()),
  /** Times of the posts, ISO 8601. */
  times: z.array(z.nullable(z.string())),
  /** 32-bit floats, little-endian, base64; [posts, columns]. */
  states: z.string(),
  /** The score at every post; 0 at posts where the policy does not act. */
  scores: z.array(z.number()),
  /** Posts used at the threshold of the manifest, without a guarantee. */
  postsUsed: z.int(),
  why: z.enum(['threshold', 'deadline', 'end']),
  /** Queries of the detector while the policy read and at the stop. */
  queries: z.int(),
  /** Judgements at the posts where the policy queries the detector; `probabilities` in the order of the labels. */
  judgements: z.array(
    z.object({ posts: z.int(), label: z.nullable(z.string()), probabilities: z.nullable(z.array(z.number())) }),
  ),
});
export type Golden = z.infer<typeof goldenSchema>;

/** Whether rounding decides the stop because a score equals the threshold. Such a thread proves nothing. */
export function isTied(scores: ArrayLike<number>, { threshold }: Pick<StopRule, 'threshold'>): boolean {
  return Array.from(scores).some((score) => Math.abs(score - threshold) <= tolerance);
}

/**
 * @param actual scores of the first posts, up to the stop or further
 * @throws InputError that names the thread and the post whose score differs
 */
export function checkScores({ threadId, scores }: Golden, actual: ArrayLike<number>): void {
  const different = Array.from(actual).findIndex((score, step) => !(Math.abs(score - scores[step]) <= tolerance));
  if (different >= 0)
    throw new InputError(
      `the golden thread ${threadId} is decided differently here: the score at post ${different + 1} is ${actual[different]}, and ${scores[different]} in ${bundleFiles.golden}; another version of Unicode or of Earshot reads its text differently`,
    );
}

/** @throws InputError that names the thread and what differs about its stop */
export function checkStop(golden: Golden, actual: { postsUsed: number; why: string | null }): void {
  if (actual.postsUsed === golden.postsUsed && actual.why === golden.why) return;
  throw new InputError(
    `the golden thread ${golden.threadId} is decided differently here: at post ${actual.postsUsed} (${actual.why}), and at ${golden.postsUsed} (${golden.why}) in ${bundleFiles.golden}`,
  );
}
