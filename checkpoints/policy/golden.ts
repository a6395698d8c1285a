import * as z from 'zod/mini';
import { InputError } from '../../src/errors.ts';
import { bundleFiles } from './manifest.ts';
import type { StopRule } from './stops.ts';

/** Largest difference in a score that is put down to rounding: of a reader from the golden threads, of the ONNX file. */
export const tolerance = 1e-5;

/** A golden thread: decided at the export by the policy of the run. Every reader of a bundle decides it again. */
export const goldenSchema = z.object({
  threadId: z.string(),
  texts: z.array(z.string()),
  /** Of the posts, ISO 8601. */
  times: z.array(z.nullable(z.string())),
  /** 32-bit floats, little-endian, base64; [posts, columns]. */
  states: z.string(),
  /** At every post; 0 where the policy does not act. */
  scores: z.array(z.number()),
  /** By the threshold of the manifest, without a guarantee. */
  postsUsed: z.int(),
  why: z.enum(['threshold', 'deadline', 'end']),
  /** Of the detector while the policy read, and at the stop. */
  queries: z.int(),
  /** What the detector said where the policy queries it; `probabilities` in the order of the task's labels. */
  judgements: z.array(
    z.object({ posts: z.int(), label: z.nullable(z.string()), probabilities: z.nullable(z.array(z.number())) }),
  ),
});
export type Golden = z.infer<typeof goldenSchema>;

/** Whether a stop hinges on rounding: a score is as good as the threshold. Such a thread proves nothing. */
export function isTied(scores: ArrayLike<number>, { threshold }: Pick<StopRule, 'threshold'>): boolean {
  return Array.from(scores).some((score) => Math.abs(score - threshold) <= tolerance);
}

/**
 * @param found scores of the first posts, up to the stop or further
 * @throws InputError that names the thread and the post whose score differs
 */
export function checkScores({ threadId, scores }: Golden, found: ArrayLike<number>): void {
  const different = Array.from(found).findIndex((score, step) => !(Math.abs(score - scores[step]) <= tolerance));
  if (different >= 0)
    throw new InputError(
      `the golden thread ${threadId} is decided differently here: the score at post ${different + 1} is ${found[different]}, and ${scores[different]} in ${bundleFiles.golden}; another version of Unicode or of Earshot reads its text differently`,
    );
}

/** @throws InputError that names the thread and what differs about its stop */
export function checkStop(golden: Golden, found: { postsUsed: number; why: string | null }): void {
  if (found.postsUsed === golden.postsUsed && found.why === golden.why) return;
  throw new InputError(
    `the golden thread ${golden.threadId} is decided differently here: at post ${found.postsUsed} (${found.why}), and at ${golden.postsUsed} (${golden.why}) in ${bundleFiles.golden}`,
  );
}
