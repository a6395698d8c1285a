import * as z from 'zod/mini';
import { floatsFromBase64 } from '../../src/base64-floats.ts';
import { InputError } from '../../src/errors.ts';
import { bundleFiles, parseBundleJson } from './manifest.ts';
import { type PolicyDefinition, type PolicySources, threadReader } from './policy.ts';
import type { DetectorOutput } from './policy-post.ts';
import { actingScores, alertingScores } from './replay.ts';
import { readsAll, type StopRule, stopIn } from './stops.ts';

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
    throw otherwise(
      threadId,
      `the score at post ${different + 1} is ${actual[different]}, and ${scores[different]} in ${bundleFiles.golden}; another version of Unicode or of Earshot reads its text differently`,
    );
}

/** @throws InputError that names the thread and what differs about its stop */
export function checkStop(
  { threadId, postsUsed, why }: Golden,
  actual: { postsUsed: number; why: string | null },
): void {
  if (actual.postsUsed !== postsUsed || actual.why !== why)
    throw otherwise(
      threadId,
      `at post ${actual.postsUsed} (${actual.why}), and at ${postsUsed} (${why}) in ${bundleFiles.golden}`,
    );
}

function otherwise(threadId: string, difference: string): InputError {
  return new InputError(`the golden thread ${threadId} is decided differently here: ${difference}`);
}

/** Everything that a bundle contributes to a decision. */
export interface LoadedParts {
  /** The definition without the threshold of the guarantee. */
  readonly definition: PolicyDefinition;
  /** The encoder, student and detector of the bundle. */
  readonly sources: PolicySources;
  /** Whether the bundle can make states from texts. */
  readonly readsTexts: boolean;
}

/** @throws InputError that names the golden thread which is decided differently */
export async function checkGoldenThreads(
  text: string,
  { definition, sources, readsTexts }: LoadedParts,
): Promise<void> {
  const { task, queries } = definition;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const golden = parseBundleJson(line, { name: bundleFiles.golden, schema: goldenSchema });
    checkScores(golden, actingScores(definition.score(floatsFromBase64(golden.states)), queries));
    if (!readsTexts) continue;
    const openDetector = sources.openDetector ?? (() => recordedOutputs(golden, task.labels));
    const thread = threadReader({ ...definition, ...readsAll }, { ...sources, openDetector }).open();
    const scores: number[] = [];
    const hours: (number | null)[] = [];
    const labels: (string | null)[] = [];
    for (const [index, post] of golden.texts.entries()) {
      const read = await thread.read({ text: post, time: golden.times[index] });
      scores.push(read.scores[index]);
      hours.push(read.hours);
      if (task.alerts !== undefined) labels.push((await thread.predict())?.label ?? null);
    }
    checkScores(golden, scores);
    const labelAt = (length: number) => labels[length - 1] ?? null;
    const counting = alertingScores(Float32Array.from(scores), { task, queries, labelAt });
    const posts = Array.from(counting, (score, index) => ({ score, hours: hours[index] }));
    checkStop(golden, stopIn(definition, posts));
  }
}

/** The detector of a golden thread: it repeats the recorded judgements. */
function recordedOutputs({ judgements }: Golden, labels: readonly string[]) {
  return async (posts: readonly unknown[]): Promise<DetectorOutput> => {
    const { label = null, probabilities = null } = judgements.find((entry) => entry.posts === posts.length) ?? {};
    return {
      label,
      probabilities: probabilities && Object.fromEntries(labels.map((name, index) => [name, probabilities[index]])),
    };
  };
}
