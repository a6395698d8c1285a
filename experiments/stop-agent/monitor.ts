import type { Audit, Audited } from '../../checkpoints/policy/audit.ts';
import { auditedLoss, type CountedLoss } from '../../checkpoints/policy/audit.ts';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import type { Policy } from '../../checkpoints/policy/load-policy.ts';
import { manyFlagged } from '../../checkpoints/policy/out-of-distribution.ts';
import { confidenceSequence, eProcess, type Losses } from '../../src/metrics/e-process.ts';

/*
 * Whether a guarantee holds in production, from audits. Audits count in the order in which their threads opened, and up to the first
 * thread that is still open: long threads change their prediction more often, and whoever counts those that have ended sees too few.
 */

/** An audit that has ended. */
export type EndedAudit = Audit & { readonly outcome: Audited };

/** The evidence after a number of audits. */
export interface Watch extends Losses {
  /** When the last of these threads opened; null before the first. */
  readonly opened: string | null;
  /** Confidence sequence of the share that loses. */
  readonly low: number;
  readonly high: number;
  /** Evidence against the guarantee. */
  readonly eValue: number;
}

export interface Monitored {
  readonly now: Watch;
  /** Where the e-value first reached 1 / level; null where it never did. */
  readonly alarm: Watch | null;
  /** Evidence that more than 10% of claims are out of distribution. */
  readonly unlike: { readonly now: Losses & { readonly eValue: number }; readonly isAlarm: boolean };
  /** Audits that are not counted: after a thread that is still open, without an end, of another policy or guarantee. */
  readonly waiting: number;
  readonly missing: number;
  readonly others: number;
  /** Under a guarantee about alerts, those that raised none before their end. */
  readonly withoutAlert: number;
  /** Those of threads that the guarantee was found on. */
  readonly calibration: number;
  /** At a few hundred places. */
  readonly history: readonly Watch[];
}

export interface Watched extends Pick<CountedLoss, 'alerts'> {
  readonly policy: string;
  readonly guarantee: Pick<Guarantee, 'loss' | 'level' | 'threshold' | 'since' | 'adapted'>;
  /** A thread that opened so long ago and has not ended never will, in milliseconds. */
  readonly quietMs: number;
  readonly now: Date;
}

/** Inputs of the monitor for a policy; null if it has no guarantee that audits can check, because they have no true labels. */
export function watchedPolicy(
  { digest, manifest, definition }: Pick<Policy, 'digest' | 'manifest' | 'definition'>,
  times: Pick<Watched, 'quietMs' | 'now'>,
): (Watched & { readonly guarantee: Guarantee }) | null {
  const { guarantee = null } = manifest;
  if (guarantee === null || guarantee.loss === 'harm' || guarantee.loss === 'false-alert') return null;
  return { policy: digest, guarantee, alerts: definition.task.alerts, ...times };
}

/** The alarm that says that the guarantee is violated. A threshold that follows the audits promises nothing. */
export function violation({ alarm }: Pick<Monitored, 'alarm'>, { adapted = null }: Watched['guarantee']): Watch | null {
  return adapted === null ? alarm : null;
}

/**
 * The audits of a policy under its present guarantee that may be counted, in the order in which their threads opened.
 * @returns ended: all of them; counted: those that the guarantee is about
 */
export function countedAudits(
  audits: readonly Audit[],
  { policy, guarantee, quietMs, now, alerts }: Watched,
): { ended: EndedAudit[]; counted: EndedAudit[] } & Pick<Monitored, 'waiting' | 'missing' | 'others' | 'calibration'> {
  const { loss, threshold, since = null, adapted = null } = guarantee;
  const calibration = audits.filter((audit) => audit.isCalibration === true).length;
  const countable = audits.filter(
    (audit) =>
      audit.isCalibration !== true &&
      audit.policy === policy &&
      (adapted !== null || audit.threshold === threshold) &&
      (since === null || audit.opened > since),
  );
  const isOpen = ({ outcome, opened }: Audit) => outcome === null && now.getTime() - Date.parse(opened) < quietMs;
  const firstOpen = countable.findIndex(isOpen);
  const settled = firstOpen < 0 ? countable : countable.slice(0, firstOpen);
  const ended = settled.filter(hasEnded);
  return {
    ended,
    counted: ended.filter(({ outcome }) => auditedLoss(outcome, { loss, alerts }) !== null),
    waiting: countable.length - settled.length,
    missing: settled.length - ended.length,
    others: audits.length - countable.length - calibration,
    calibration,
  };
}

/** @param options.alarmLevel probability of ever raising an alarm while the guarantee holds */
export function monitored(
  audits: readonly Audit[],
  { alarmLevel, ...watched }: Watched & { alarmLevel: number },
): Monitored {
  const { counted, ended, ...others } = countedAudits(audits, watched);
  const { alerts, guarantee } = watched;
  const { level, loss } = guarantee;
  const every = Math.ceil(counted.length / 300);
  const history: Watch[] = [];
  const evidence = eProcess(level);
  let losses = 0;
  let alarm: Watch | null = null;
  const watch = (items: number): Watch => ({
    items,
    losses,
    opened: counted[items - 1]?.opened ?? null,
    eValue: evidence.value(),
    ...confidenceSequence({ losses, items }, 1 - alarmLevel),
  });
  for (const [index, { outcome }] of counted.entries()) {
    const items = index + 1;
    const isLost = auditedLoss(outcome, { loss, alerts }) === true;
    losses += Number(isLost);
    const eValue = evidence.add(isLost);
    if (alarm === null && eValue >= 1 / alarmLevel) alarm = watch(items);
    if (items % every === 0 || items === counted.length) history.push(watch(items));
  }
  const unlike = watchedClaims(ended, alarmLevel);
  const withoutAlert = ended.length - counted.length;
  return { now: history.at(-1) ?? watch(0), alarm, unlike, ...others, withoutAlert, history };
}

function watchedClaims(counted: readonly EndedAudit[], alarmLevel: number): Monitored['unlike'] {
  const evidence = eProcess(manyFlagged);
  let now = { items: 0, losses: 0, eValue: 1 };
  let isAlarm = false;
  for (const { isOutOfDistribution } of counted) {
    if (isOutOfDistribution === null) continue;
    now = {
      items: now.items + 1,
      losses: now.losses + Number(isOutOfDistribution),
      eValue: evidence.add(isOutOfDistribution),
    };
    isAlarm ||= now.eValue >= 1 / alarmLevel;
  }
  return { now, isAlarm };
}

function hasEnded(audit: Audit): audit is EndedAudit {
  return audit.outcome !== null && 'atEnd' in audit.outcome;
}
