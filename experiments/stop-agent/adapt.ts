import { changedPrediction } from '../../checkpoints/policy/audit.ts';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { InputError } from '../../src/errors.ts';
import { smallestCalibration } from '../../src/metrics/learn-then-test.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { keptBy } from './calibrate.ts';
import type { EndedAudit } from './monitor.ts';

/*
 * What keeps a guarantee when threads change: a threshold that follows the audits (online control after Gibbs & Candès 2021,
 * https://arxiv.org/abs/2106.00170), or another calibration on the audits.
 */

/** Of the logit of the threshold: for each thread that an audit stands for, and at most for one audit. */
const rate = 0.1;
const mostStep = 1;
/** Of the logit, as far as a calibration looks. */
const bounds = { low: -6, high: 12 };
const movesKept = 1000;

/** What moves a threshold. */
type Move = Pick<EndedAudit, 'probability'> & { readonly outcome: Parameters<typeof changedPrediction>[0] };

/** A threshold after some audits: up after a changed prediction, down by as much less as changes are allowed. */
export function movedThreshold(threshold: number, audits: readonly Move[], level: number): number {
  let logit = Math.min(bounds.high, Math.log(threshold / (1 - threshold)));
  for (const { probability, outcome } of audits) {
    const step = Math.min(mostStep, rate / probability);
    logit += step * (Number(changedPrediction(outcome)) - level);
    logit = Math.min(bounds.high, Math.max(bounds.low, logit));
  }
  return 1 / (1 + Math.exp(-logit));
}

/**
 * Moves the threshold by each audit. Whatever comes, the share of changed predictions approaches the level in the long run; no confidence
 * is claimed.
 * @param audits those that were not counted before, in the order in which their threads opened; at least one
 */
export function adapted(guarantee: Guarantee, audits: readonly EndedAudit[], now: Date): Guarantee {
  const before = guarantee.adapted ?? { audits: 0, losses: 0, history: [] };
  const threshold = movedThreshold(guarantee.threshold, audits, guarantee.level);
  const counts = {
    audits: before.audits + audits.length,
    losses: before.losses + audits.filter(({ outcome }) => changedPrediction(outcome)).length,
  };
  const move = { time: now.toISOString(), threshold, ...counts };
  return {
    ...guarantee,
    threshold,
    er: mean(audits.map(({ outcome }) => outcome.postsUsed / outcome.posts)),
    since: audits[audits.length - 1].opened,
    adapted: { ...counts, history: [...before.history, move].slice(-movesKept) },
  };
}

const usualConfidence = 0.9;

/**
 * Learn then Test on audits: the earliest threshold that keeps the guarantee on their threads.
 * @throws InputError for fewer audits than can show it, or where no query was spent on what another threshold would have seen
 */
export function recalibrated(guarantee: Guarantee, audits: readonly EndedAudit[], wanted: Limited): Guarantee {
  const { level, loss } = guarantee;
  // Audits are held-out threads, so a guarantee that was found by cross-validation gets a confidence from them.
  const confidence = guarantee.confidence ?? usualConfidence;
  const smallest = smallestCalibration({ level, confidence });
  if (audits.length < smallest)
    throw new InputError(
      `${audits.length} audits cannot show that at most ${100 * level}% of predictions would change, with ${100 * confidence}% confidence: that takes ${smallest}. Wait for more audits, or calibrate on other threads`,
    );
  const threads = audits.map(({ threadId, outcome: { path } }) => {
    if (path === null)
      throw new InputError(
        `the audit of ${threadId} has its predictions at the stop and at the end only, as each further one costs a query; give whole threads to \`earshot calibrate\` instead`,
      );
    return { posts: path, labelAt: (posts: number) => path[posts - 1].label, gold: null };
  });
  const { threshold, losses, bound, er } = keptBy(threads, { level, confidence, loss, ...wanted });
  const since = audits[audits.length - 1].opened;
  return { ...guarantee, confidence, threshold, losses, bound, er, threads: audits.length, since, adapted: null };
}

type Limited = Pick<Parameters<typeof keptBy>[1], 'limits'>;
