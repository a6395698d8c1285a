import * as z from 'zod/mini';
import { finishHash, mixIntoHash, scrambleWord } from '../../src/text/murmur3.ts';
import type { PolicyDefinition, PolicySources } from './policy.ts';
import { threadReader } from './policy.ts';
import type { PolicyPost } from './policy-post.ts';
import { readsAll } from './stops.ts';

/*
 * Audits: a random share of threads is read on to its end, so that what the policy would have predicted there is known. No label is
 * needed. A thread is drawn when it opens, by its id alone, so that the draw cannot depend on where the policy stops.
 */

/** Which threads are audited. */
export interface AuditDraw {
  /** Probability of being drawn; 0 to 1. */
  readonly share: number;
  readonly seed: number;
}

/** Whether a thread is drawn: the same in every reader, whenever it is asked. */
export function isAudited(threadId: string, { share, seed }: AuditDraw): boolean {
  let hash = seed | 0;
  let length = 0;
  for (const character of threadId) {
    hash = mixIntoHash(hash, scrambleWord(character.codePointAt(0) ?? 0));
    length++;
  }
  return (finishHash(hash, 4 * length) >>> 0) / 2 ** 32 < share;
}

const label = z.nullable(z.string());

/** What came of an audit. */
const auditedSchema = z.object({
  /** ISO 8601. */
  closed: z.string(),
  /** Posts of the whole thread, and those that the prediction at the stop is about. */
  posts: z.int(),
  postsUsed: z.int(),
  /** What the detector predicts at the stop and after all posts; null where it gives no label. */
  atStop: label,
  atEnd: label,
  /** Queries that the audit itself took. */
  queries: z.int(),
  /**
   * What a policy with another threshold would have seen at each post; null where that would have taken further queries of a language
   * model.
   */
  path: z.nullable(z.array(z.object({ score: z.number(), hours: z.nullable(z.number()), label }))),
});
export type Audited = z.infer<typeof auditedSchema>;

/** A line of `audits.jsonl`. */
export const auditSchema = z.object({
  threadId: z.string(),
  /** Names the policy by its files; another guarantee leaves it as it is. */
  policy: z.string(),
  /** By which the thread was decided. */
  threshold: z.number(),
  /** When the thread opened, in ISO 8601. */
  opened: z.string(),
  /** Of being drawn. */
  probability: z.number(),
  /** Whether its claim is out of distribution; null where that is not known. */
  isUnlike: z.nullable(z.boolean()),
  /** Null while the thread is open. missing: why its end could not be judged. */
  outcome: z.nullable(z.union([auditedSchema, z.object({ closed: z.string(), missing: z.string() })])),
});
export type Audit = z.infer<typeof auditSchema>;

/** Whether stopping early changed the prediction. A thread that was read to its end changed nothing. */
export function changedPrediction({ posts, postsUsed, atStop, atEnd }: Omit<Audited, 'closed'>): boolean {
  return postsUsed < posts && atStop !== atEnd;
}

/** What an audit reads with. */
export interface AuditSources {
  readonly definition: PolicyDefinition;
  readonly sources: PolicySources;
  /** Whether queries cost nothing, so that every post is judged. */
  readonly hasFreeDetector: boolean;
}

/**
 * Reads a thread that has ended after its stop, and queries the detector there.
 * @param stopped what was decided, at the time
 * @throws ProviderError where the detector cannot be queried
 */
export async function auditedThread(
  { definition, sources, hasFreeDetector }: AuditSources,
  { id, posts: whole }: { id: string; posts: readonly PolicyPost[] },
  stopped: { readonly postsUsed: number; readonly label: string | null },
): Promise<Omit<Audited, 'closed'>> {
  const posts = whole.slice(0, definition.limits.maxPosts);
  const judged = Math.min(posts.length, definition.queries.maxPosts);
  const found = { posts: posts.length, postsUsed: stopped.postsUsed, atStop: stopped.label };
  const judge = sources.openDetector?.(id);
  if (judge === undefined || stopped.postsUsed >= judged)
    return { ...found, atEnd: stopped.label, queries: 0, path: null };
  if (!hasFreeDetector) return { ...found, atEnd: (await judge(posts.slice(0, judged))).label, queries: 1, path: null };
  const labels: (string | null)[] = [];
  for (let length = 1; length <= judged; length++) labels.push((await judge(posts.slice(0, length))).label);
  const thread = threadReader({ ...definition, ...readsAll }, sources).open(id);
  const path: NonNullable<Audited['path']> = [];
  for (const [index, post] of posts.entries()) {
    const { scores, hours } = await thread.read(post);
    path.push({ score: scores[index], hours, label: labels[Math.min(index, judged - 1)] });
  }
  return { ...found, atEnd: labels[judged - 1], queries: judged - stopped.postsUsed, path };
}
