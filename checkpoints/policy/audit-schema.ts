import * as z from 'zod/mini';

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
