import { auditedLoss, type CountedLoss } from '../../checkpoints/policy/audit.ts';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { InputError } from '../../src/errors.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { calibrationOf } from './calibrate.ts';
import type { EndedAudit } from './monitor.ts';

/*
 * A guarantee when threads change: a threshold that follows the audits (online control after Gibbs & Candès 2021,
 * https://arxiv.org/abs/2106.00170), or another calibration on the audits.
 */

/** Of the logit of the threshold: for each thread that an audit stands for, and at most for one audit. */
const rate = 0.1;
const mostStep = 1;
/** Of the logit, as far as a calibration looks. */
const bounds = { low: -6, high: 12 };
const movesKept = 1000;

/** The settings by which audits move a threshold. */
type Move = Pick<EndedAudit, 'probability'> & { readonly outcome: Parameters<typeof auditedLoss>[0] };

/** A threshold after some audits: up after a loss, down by as much less as losses are allowed. */
export function movedThreshold(
  threshold: number,
  audits: readonly Move[],
  { level, ...counted }: CountedLoss & { level: number },
): number {
  let logit = Math.min(bounds.high, Math.log(threshold / (1 - threshold)));
  for (const { probability, outcome } of audits) {
    const step = Math.min(mostStep, rate / probability);
    const isLost = auditedLoss(outcome, counted);
    if (isLost !== null) logit += step * (Number(isLost) - level);
    logit = Math.min(bounds.high, Math.max(bounds.low, logit));
  }
  return 1 / (1 + Math.exp(-logit));
}

/**
 * Moves the threshold by each audit. Whatever comes, the share that loses approaches the level in the long run; no confidence is claimed.
 * @param audits those that have ended and were not counted before, in the order in which their threads opened; at least one
 */
export function adapted(
  guarantee: Guarantee,
  audits: readonly EndedAudit[],
  { now, alerts }: { now: Date } & Pick<CountedLoss, 'alerts'>,
): Guarantee {
  const { adapted: earlier, earlyAlerts: _, ...unadapted } = guarantee;
  const before = earlier ?? { audits: 0, losses: 0, history: [] };
  const { loss, level } = guarantee;
  const threshold = movedThreshold(guarantee.threshold, audits, { level, loss, alerts });
  const losses = audits
    .map(({ outcome }) => auditedLoss(outcome, { loss, alerts }))
    .filter((isLost) => isLost !== null);
  const counts = {
    audits: before.audits + losses.length,
    losses: before.losses + losses.filter((isLost) => isLost).length,
  };
  const move = { time: now.toISOString(), threshold, ...counts };
  return {
    ...unadapted,
    threshold,
    er: mean(audits.map(({ outcome }) => outcome.postsUsed / outcome.posts)),
    since: audits[audits.length - 1].opened,
    adapted: { ...counts, history: [...before.history, move].slice(-movesKept) },
  };
}

const usualConfidence = 0.9;

/**
 * Learn then Test on audits: the earliest threshold that keeps the guarantee on their threads.
 * @throws InputError for audits that cannot show it, or where no query was spent on what another threshold would have seen
 */
export function recalibrated(guarantee: Guarantee, audits: readonly EndedAudit[], limited: Limited): Guarantee {
  const { level, loss } = guarantee;
  // Audits are held-out threads, so a guarantee that was found by cross-validation gets a confidence from them.
  const confidence = guarantee.confidence ?? usualConfidence;
  const threads = audits.map(({ threadId, outcome: { path } }) => {
    if (path === null)
      throw new InputError(
        `the audit of ${threadId} has its predictions at the stop and at the end only, as each further one costs a query; give whole threads to \`earshot calibrate\` instead`,
      );
    return { posts: path, labelAt: (posts: number) => path[posts - 1].label, gold: null };
  });
  const risk = { level, confidence, loss };
  const calibrated = calibrationOf(threads, { ...risk, ...limited, remedies });
  const since = audits[audits.length - 1].opened;
  return { ...risk, ...calibrated, claims: guarantee.claims, since, adapted: null };
}

const remedies = { threads: 'Wait for more audits', level: '`earshot calibrate` on other threads with --risk-level' };

type Limited = Pick<Parameters<typeof calibrationOf>[1], 'limits' | 'alerts'>;
