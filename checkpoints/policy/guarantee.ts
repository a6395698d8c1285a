import * as z from 'zod/mini';
import { claimRegionSchema } from './out-of-distribution.ts';
import type { StopRule } from './stops.ts';

/*
 * What `earshot calibrate` found: from which probability of stopping on an agent stops, so that the guarantee holds. zod/mini,
 * because the reader also runs in browsers.
 */

export const guaranteeSchema = z.object({
  /**
   * What counts against the guarantee. disagreement: the prediction at the stop is not the one after all posts; harm: it is wrong
   * there and right after all posts. Of alerts that were raised before the thread's end: withdrawn: the prediction after all posts
   * raises none; false-alert: the thread should raise none.
   */
  loss: z.enum(['disagreement', 'harm', 'withdrawn', 'false-alert']),
  /** At most this share of threads, or of early alerts, lose, … */
  level: z.number(),
  /** … with this probability over the calibration threads; null: on average over data sets, by cross-validation. */
  confidence: z.nullable(z.number()),
  /** The policy stops at the first post whose score exceeds it; 1 where it has to read everything. */
  threshold: z.number(),
  /** Threads that it was found on, those of them that raise an early alert where it is about alerts, and those that lose. */
  threads: z.int(),
  alerts: z.optional(z.int()),
  losses: z.int(),
  /**
   * What becomes of early alerts under a guarantee that is not about them: those of the calibration threads, those that the prediction
   * after all posts would withdraw, and a 95% interval of that share. Absent where no label raises one.
   */
  earlyAlerts: z.optional(z.object({ alerts: z.int(), withdrawn: z.int(), low: z.number(), high: z.number() })),
  /** Upper bound on the share that loses, at that confidence. */
  bound: z.number(),
  /** Mean share of posts read on those threads. */
  er: z.number(),
  /** Which threads are like those. */
  claims: claimRegionSchema,
  /** Those threads: the beginnings of the hashes of their ids and claims. Absent where that is not known, as after audits. */
  calibratedOn: z.optional(z.array(z.string())),
  /** Audits that opened up to then, in ISO 8601, went into it: no later look counts them again. */
  since: z.optional(z.nullable(z.string())),
  /** How `earshot monitor --adapt` moved the threshold; null or absent where it did not. */
  adapted: z.optional(
    z.nullable(
      z.object({
        /** Audits that moved it, and those of them whose prediction changed. */
        audits: z.int(),
        losses: z.int(),
        /** The last moves. */
        history: z.array(z.object({ time: z.string(), threshold: z.number(), audits: z.int(), losses: z.int() })),
      }),
    ),
  ),
});
export type Guarantee = z.infer<typeof guaranteeSchema>;

/** How a policy stops, in words. @param rule.alerts the only predictions that it stops early with; any unless given */
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

/** Whether early alerts are what counts; otherwise predictions are. */
export function isAboutAlerts({ loss }: Pick<Guarantee, 'loss'>): boolean {
  return loss === 'withdrawn' || loss === 'false-alert';
}

/** What is guaranteed, and what it saves, as a sentence. */
export function guaranteeInWords({ loss, level, confidence, er, earlyAlerts, adapted = null }: Guarantee): string {
  const changed = {
    disagreement: 'of predictions would change',
    harm: 'of predictions would be right if the thread were read to its end, and are wrong at the stop',
    withdrawn: 'of early alerts would be withdrawn after all posts',
    'false-alert': 'of early alerts are false',
  }[loss];
  const reads = `Reads ${share(Math.round(100 * er) / 100)} of the posts`;
  const when = confidence === null ? 'on average' : `with ${share(confidence)} confidence`;
  const sentence =
    adapted === null
      ? `${reads}; ${when} at most ${share(level)} ${changed}`
      : `${reads}; in the long run, on average, ${share(level)} ${changed}`;
  return earlyAlerts === undefined
    ? sentence
    : `${sentence}. This is about predictions, not about alerts: ${expected(earlyAlerts)}`;
}

function expected({ alerts, withdrawn, low, high }: NonNullable<Guarantee['earlyAlerts']>): string {
  if (alerts === 0) return 'no calibration thread raised an early one';
  const [mean, ...interval] = [withdrawn / alerts, low, high].map((value) => share(Math.round(100 * value) / 100));
  return `${mean} [${interval.join(', ')}] of early alerts would be withdrawn after all posts`;
}

function share(value: number): string {
  return `${Number((100 * value).toPrecision(6))}%`;
}
