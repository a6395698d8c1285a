import * as z from 'zod/mini';
import { finishHash, mixIntoHash, scrambleWord } from '../../src/text/murmur3.ts';
import type { Guarantee } from './guarantee.ts';
import type { PolicyDefinition, PolicySources } from './policy.ts';
import { threadReader } from './policy.ts';
import type { PolicyPost } from './policy-post.ts';
import { readsAll } from './stops.ts';

const label = z.nullable(z.string());

/** The result of an audit. */
const auditedSchema = z.object({
  /** ISO 8601. */
  closed: z.string(),
  /** Posts of the whole thread, and posts that the prediction at the stop is about. */
  posts: z.int(),
  postsUsed: z.int(),
  /** The detector's prediction at the stop and after all posts; null if it gives no label. */
  atStop: label,
  atEnd: label,
  /** Queries of the audit itself. */
  queries: z.int(),
  /** Score, time and label at each post, to replay other thresholds; null if they need queries of a language model. */
  path: z.nullable(z.array(z.object({ score: z.number(), hours: z.nullable(z.number()), label }))),
});
export type Audited = z.infer<typeof auditedSchema>;

/** A line of `audits.jsonl`. */
export const auditSchema = z.object({
  threadId: z.string(),
  /** Identifies the policy by its files. A new guarantee does not change it. */
  policy: z.string(),
  /** The threshold that decided the thread. */
  threshold: z.number(),
  /** The time when the thread opened, ISO 8601. */
  opened: z.string(),
  /** The probability with which the thread was drawn. */
  probability: z.number(),
  /** Whether the thread's claim is out of distribution; null if unknown. */
  isOutOfDistribution: z.nullable(z.boolean()),
  /** True for a calibration thread of the guarantee, which is no evidence for it; otherwise absent. */
  isCalibration: z.optional(z.boolean()),
  /** Null while the thread is open. `missing` is the reason why its end could not be judged. */
  outcome: z.nullable(z.union([auditedSchema, z.object({ closed: z.string(), missing: z.string() })])),
});
export type Audit = z.infer<typeof auditSchema>;

/*
 * Audits: a random share of threads is read to its end, which shows what the policy would have predicted there. No
 * label is needed. A thread is drawn when it opens, by its id alone, so the draw cannot depend on where the policy
 * stops.
 */

export interface AuditDraw {
  /** Probability that a thread is drawn; 0 to 1. */
  readonly share: number;
  readonly seed: number;
}

/** Whether a thread is drawn. Every reader draws the same threads at any time. */
export function isAudited(threadId: string, { share, seed }: AuditDraw): boolean {
  let hash = seed | 0;
  let length = 0;
  for (const character of threadId) {
    hash = mixIntoHash(hash, scrambleWord(character.codePointAt(0) ?? 0));
    length++;
  }
  return (finishHash(hash, 4 * length) >>> 0) / 2 ** 32 < share;
}

/** Whether stopping early changed the prediction. A thread that was read to its end changed nothing. */
export function changedPrediction({ posts, postsUsed, atStop, atEnd }: AuditedStop): boolean {
  return postsUsed < posts && atStop !== atEnd;
}

/**
 * Whether an audited thread counts as a loss of the guarantee. Null if the thread does not count: a guarantee about
 * alerts counts only threads that raise one before their end.
 */
export function auditedLoss(outcome: AuditedStop, { loss, alerts = [] }: CountedLoss): boolean | null {
  if (loss !== 'withdrawn') return changedPrediction(outcome);
  const { posts, postsUsed, atStop, atEnd } = outcome;
  if (postsUsed >= posts || !alerts.includes(atStop ?? '')) return null;
  return !alerts.includes(atEnd ?? '');
}

type AuditedStop = Pick<Audited, 'posts' | 'postsUsed' | 'atStop' | 'atEnd'>;

/** The loss of a guarantee, as far as audits can count it without labels. */
export interface CountedLoss {
  readonly loss: Guarantee['loss'];
  /** Labels that raise an alert. */
  readonly alerts?: readonly string[] | undefined;
}

/** The audit of a thread that is open. */
export function openedAudit(
  threadId: string,
  { digest, definition }: { readonly digest: string; readonly definition: Pick<PolicyDefinition, 'threshold'> },
  { share, opened }: Pick<AuditDraw, 'share'> & { readonly opened: Date },
): Audit {
  return {
    threadId,
    policy: digest,
    threshold: definition.threshold,
    opened: opened.toISOString(),
    probability: share,
    isOutOfDistribution: null,
    outcome: null,
  };
}

export interface AuditSources {
  readonly definition: PolicyDefinition;
  readonly sources: PolicySources;
  /** Whether queries cost nothing, so that an audit judges every post. */
  readonly hasFreeDetector: boolean;
}

/**
 * Reads an ended thread beyond its stop and queries the detector there.
 * @param stopped the decision that was made at the time
 * @throws ProviderError if the detector cannot be queried
 */
export async function auditedThread(
  { definition, sources, hasFreeDetector }: AuditSources,
  { id, posts: whole }: { id: string; posts: readonly PolicyPost[] },
  stopped: { readonly postsUsed: number; readonly label: string | null },
): Promise<Omit<Audited, 'closed'>> {
  const posts = whole.slice(0, definition.limits.maxPosts);
  const judged = Math.min(posts.length, definition.queries.maxPosts);
  const stop = { posts: posts.length, postsUsed: stopped.postsUsed, atStop: stopped.label };
  const judge = sources.openDetector?.(id);
  if (judge === undefined || (!hasFreeDetector && stopped.postsUsed >= judged))
    return { ...stop, atEnd: stopped.label, queries: 0, path: null };
  if (!hasFreeDetector) return { ...stop, atEnd: (await judge(posts.slice(0, judged))).label, queries: 1, path: null };
  const labels: (string | null)[] = [];
  for (let length = 1; length <= judged; length++) labels.push((await judge(posts.slice(0, length))).label);
  const thread = threadReader({ ...definition, ...readsAll }, sources).open(id);
  const path: NonNullable<Audited['path']> = [];
  for (const [index, post] of posts.entries()) {
    const { scores, hours } = await thread.read(post);
    path.push({ score: scores[index], hours, label: labels[Math.min(index, judged - 1)] });
  }
  return { ...stop, atEnd: labels[judged - 1], queries: Math.max(0, judged - stopped.postsUsed), path };
}
