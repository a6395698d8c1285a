import * as z from 'zod/mini';

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
  isOutOfDistribution: z.nullable(z.boolean()),
  /** True of a thread that the guarantee was found on: it is no evidence for it. Absent of others. */
  isCalibration: z.optional(z.boolean()),
  /** Null while the thread is open. missing: why its end could not be judged. */
  outcome: z.nullable(z.union([auditedSchema, z.object({ closed: z.string(), missing: z.string() })])),
});
export type Audit = z.infer<typeof auditSchema>;
