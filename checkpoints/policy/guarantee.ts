import * as z from 'zod/mini';
import { claimRegionSchema } from './out-of-distribution.ts';
import type { StopRule } from './stops.ts';

/* The result of `earshot calibrate`. zod/mini, because the reader also runs in browsers. */

export const guaranteeSchema = z.object({
  /**
   * The loss that the guarantee limits. disagreement: the prediction at the stop differs from the one after all posts;
   * harm: it is wrong and the one after all posts is right. Among alerts before the thread's end: withdrawn: the
   * prediction after all posts raises no alert; false-alert: the thread should raise no alert.
   */
  loss: z.enum(['disagreement', 'harm', 'withdrawn', 'false-alert']),
  /** The risk level ε: at most this share of threads, or of early alerts, are losses. */
  level: z.number(),
  /** The probability 1 − δ that the risk level holds; null for a cross-validated guarantee, which holds on average. */
  confidence: z.nullable(z.number()),
  /** The policy stops at the first post whose score exceeds the threshold; at 1 it reads everything. */
  threshold: z.number(),
  /** Calibration threads; those that raise an early alert, for a guarantee about alerts; and those that are losses. */
  threads: z.int(),
  alerts: z.optional(z.int()),
  losses: z.int(),
  /**
   * Early alerts under a guarantee that is not about them: their number on the calibration threads, how many the
   * prediction after all posts would withdraw, and a 95% interval of that share. Absent if no label raises an alert.
   */
  earlyAlerts: z.optional(z.object({ alerts: z.int(), withdrawn: z.int(), low: z.number(), high: z.number() })),
  /** Upper bound on the share of losses at that confidence. */
  bound: z.number(),
  /** Mean share of posts read on the calibration threads. */
  er: z.number(),
  /** The region of the calibration threads' claims. */
  claims: claimRegionSchema,
  /** The calibration threads: prefixes of the hashes of their ids and claims. Absent if unknown, as after audits. */
  calibratedOn: z.optional(z.array(z.string())),
  /** Audits that opened until this time, ISO 8601, are part of the guarantee and never counted again. */
  since: z.optional(z.nullable(z.string())),
  /** Changes of the threshold by `earshot monitor --adapt`; null or absent without any. */
  adapted: z.optional(
    z.nullable(
      z.object({
        /** Audits that changed the threshold, and those of them whose prediction changed. */
        audits: z.int(),
        losses: z.int(),
        /** The latest changes. */
        history: z.array(z.object({ time: z.string(), threshold: z.number(), audits: z.int(), losses: z.int() })),
      }),
    ),
  ),
});
export type Guarantee = z.infer<typeof guaranteeSchema>;

/** The stop rule in words. @param rule.alerts the only predictions that stop a thread early; any by default */
export function stopRuleInWords({
  threshold,
  limits: { maxPosts, deadline },
  alerts,
}: StopRule & { alerts?: readonly string[] | undefined }): string {
  const latest = [
    ...(deadline.posts === null ? [] : [`after ${deadline.posts} posts`]),
    ...(deadline.hours === null ? [] : [`${deadline.hours} hours after the first post`]),
    `at the last post, or post ${maxPosts}`,
  ];
  const score =
    threshold >= 1
      ? 'stop'
      : `stop at the first post whose score exceeds ${threshold}${alerts === undefined ? '' : ` and whose prediction is ${alerts.join(' or ')}`}, and otherwise`;
  return `${score} ${latest.join(' or ')}${latest.length > 1 ? ', whichever comes first' : ''}`;
}

/** Whether the guarantee counts early alerts rather than predictions. */
export function isAboutAlerts({ loss }: Pick<Guarantee, 'loss'>): boolean {
  return loss === 'withdrawn' || loss === 'false-alert';
}

/** The guarantee, and the share of posts that it reads, as a sentence. */
export function guaranteeInWords({ loss, level, confidence, er, earlyAlerts, adapted = null }: Guarantee): string {
  const changed = {
    disagreement: 'of predictions would change',
    harm: 'of predictions would be right if the thread were read to its end, and are wrong at the stop',
    withdrawn: 'of early alerts would be withdrawn after all posts',
    'false-alert': 'of early alerts are false',
  }[loss];
  const reads = `Reads ${percent(Math.round(100 * er) / 100)} of the posts`;
  const when = confidence === null ? 'on average' : `with ${percent(confidence)} confidence`;
  const sentence =
    adapted === null
      ? `${reads}; ${when} at most ${percent(level)} ${changed}`
      : `${reads}; in the long run, on average, ${percent(level)} ${changed}`;
  return earlyAlerts === undefined
    ? sentence
    : `${sentence}. This is about predictions, not about alerts: ${expected(earlyAlerts)}`;
}

function expected({ alerts, withdrawn, low, high }: NonNullable<Guarantee['earlyAlerts']>): string {
  if (alerts === 0) return 'no calibration thread raised an early one';
  const [mean, ...interval] = [withdrawn / alerts, low, high].map((value) => percent(Math.round(100 * value) / 100));
  return `${mean} [${interval.join(', ')}] of early alerts would be withdrawn after all posts`;
}

/** A share that a user chose, as it was written: `2.5%`. */
export function percent(share: number): string {
  return `${Number((100 * share).toPrecision(6))}%`;
}
