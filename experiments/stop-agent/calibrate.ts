import { type Guarantee, guaranteeSchema } from '../../checkpoints/policy/guarantee.ts';
import { type Limits, stopIn } from '../../checkpoints/policy/stops.ts';
import { InputError } from '../../src/errors.ts';
import { controlRisk } from '../../src/metrics/conformal-risk-control.ts';
import {
  type Calibration,
  learnThenTest,
  learnThenTestSome,
  type RiskLevel,
  smallestCalibration,
  upperBound,
} from '../../src/metrics/learn-then-test.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { Random } from '../../src/tensor/random.ts';
import { claimRegion } from './claim-region.ts';
import type { ScoredThread } from './scored-thread.ts';

/*
 * An operating point with a guarantee: the earliest threshold on a stopping score that loses on few enough threads, by Learn then
 * Test (src/metrics/learn-then-test.ts).
 */

/** A held-out thread. */
export interface CalibrationThread extends ScoredThread {
  /** Null where unknown. */
  readonly gold: string | null;
}

/** What says whether stopping early loses. */
type ReplayedThread = Pick<CalibrationThread, 'posts' | 'labelAt' | 'gold'>;

export interface GuaranteeWanted extends RiskLevel {
  readonly loss: Guarantee['loss'];
  /** Labels that raise an alert; none unless given. */
  readonly alerts?: readonly string[] | undefined;
  /** Of the policy: a deadline is a stop like any other. */
  readonly limits: Limits;
}

/** What a stopping score reads where its threshold keeps the guarantee. */
export interface KeptGuarantee extends Calibration {
  /** Mean share of posts read. */
  readonly er: number;
}

/** From the most careful to the least: never, then logits from 12 down to −6. */
const thresholdsBy = (stepsPerLogit: number): readonly number[] => [
  1,
  ...Array.from({ length: 18 * stepsPerLogit + 1 }, (_, index) => 1 / (1 + Math.exp(index / stepsPerLogit - 12))),
];
export const thresholds = thresholdsBy(4);
/** Fixed before any thread is seen, so testing more of them costs no confidence. With wide steps a policy stops later than it may. */
export const calibrationThresholds = thresholdsBy(40);

/** For guarantees about alerts every threshold is tested, so there are few of them. */
const alertThresholds = [
  1,
  ...[6, 5, 4, 3.5, 3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1].map((logit) => calibrationThresholds[1 + 40 * (12 - logit)]),
];

/**
 * The guarantee of an agent, and which claims are like those that it was found on.
 * @throws InputError for fewer threads than can show that the guarantee is kept
 */
export async function guaranteeFor(threads: readonly CalibrationThread[], wanted: GuaranteeWanted): Promise<Guarantee> {
  const { threshold, losses, bound, er, items } = keptBy(threads, wanted);
  const { loss, level, confidence } = wanted;
  const claims = await claimRegion(threads.map(({ thread }) => thread.posts[0].text));
  const alerts = isAboutAlerts(wanted) ? { alerts: items } : {};
  const found = { loss, level, confidence, threshold, threads: threads.length, ...alerts, losses, bound, er, claims };
  return guaranteeSchema.parse(found);
}

/**
 * A guarantee on average over data sets, found on labelled threads that were judged and scored by cross-validation: no thread is set
 * aside. Null where there are too few threads for one, or a deadline alone loses on too many.
 */
export async function guaranteeOnAverage(
  threads: readonly CalibrationThread[],
  wanted: Omit<GuaranteeWanted, 'confidence'>,
): Promise<Guarantee | null> {
  const stops = threads.map((thread) => withLossesKept(thresholdStops(thread, wanted)));
  const losses = lossesByPlace(stops);
  const { level, loss } = wanted;
  const kept = controlRisk({
    thresholds: calibrationThresholds,
    items: threads.length,
    lossesAt: (threshold) => losses[calibrationThresholds.indexOf(threshold)],
    level,
  });
  if (kept === null) return null;
  const { threshold, bound } = kept;
  const claims = await claimRegion(threads.map(({ thread }) => thread.posts[0].text));
  const er = readAt(stops, threshold);
  const counts = { threads: threads.length, losses: kept.losses, bound, er };
  return guaranteeSchema.parse({ loss, level, confidence: null, threshold, ...counts, claims });
}

/** The same stops, where a thread that loses at one threshold loses at every less careful one: expected losses must not fall. */
function withLossesKept(stops: readonly ThresholdStop[]): ThresholdStop[] {
  const first = stops.findIndex((stop) => stop.loses);
  return stops.map((stop, index) => ({ ...stop, loses: first >= 0 && index >= first }));
}

/** The same guarantee by the detector's confidence, queried at every post; null where it gives no probabilities. */
export function keptByConfidence(threads: readonly CalibrationThread[], wanted: GuaranteeWanted): KeptGuarantee | null {
  if (threads.every(({ confidence }) => confidence.every((own) => own === 0))) return null;
  const byConfidence = threads.map((thread) => ({
    ...thread,
    posts: thread.posts.map(({ hours }, index) => ({ hours, score: thread.confidence[index] ?? 0 })),
  }));
  return possiblyKept(byConfidence, wanted);
}

/** What an agent would read for other guarantees; null where there are too few threads for one. */
export function curveOf(
  threads: readonly CalibrationThread[],
  wanted: Omit<GuaranteeWanted, 'level'>,
): { level: number; kept: KeptGuarantee | null }[] {
  return [0.01, 0.02, 0.05, 0.1, 0.15, 0.2].map((level) => {
    const own = { ...wanted, level };
    return { level, kept: possiblyKept(threads, own) };
  });
}

/** Null where there are too few threads or alerts to show anything. */
function possiblyKept(threads: readonly ReplayedThread[], wanted: GuaranteeWanted): KeptGuarantee | null {
  if (threads.length < smallestCalibration(wanted)) return null;
  const stops = threads.map((thread) => thresholdStops(thread, wanted));
  return isAboutAlerts(wanted) ? keptByAlerts(stops, wanted) : keptByStops(stops, wanted);
}

/** What the same guarantee would read with other numbers of threads: means over resamples of these, drawn with replacement. */
export function curveOverSizes(
  threads: readonly CalibrationThread[],
  wanted: GuaranteeWanted,
): { threads: number; er: number }[] {
  const random = Random.seeded({ seed: 1, purpose: 'calibration sizes' });
  const stops = threads.map((thread) => thresholdStops(thread, wanted));
  return [0.25, 0.5, 1, 2, 4]
    .map((factor) => Math.round(factor * threads.length))
    .filter((size) => size >= smallestCalibration(wanted))
    .map((size) => {
      const rates = Array.from({ length: 10 }, () => {
        const drawn = Array.from({ length: size }, () => stops[random.integer(stops.length)]);
        return isAboutAlerts(wanted) ? (keptByAlerts(drawn, wanted)?.er ?? 1) : keptByStops(drawn, wanted).er;
      });
      return { threads: size, er: mean(rates) };
    });
}

/**
 * The earliest stops of a score that keep the guarantee.
 * @throws as `guaranteeFor`
 */
export function keptBy(threads: readonly ReplayedThread[], wanted: GuaranteeWanted): KeptGuarantee {
  const stops = threads.map((thread) => thresholdStops(thread, wanted));
  if (!isAboutAlerts(wanted)) return keptByStops(stops, wanted);
  if (wanted.alerts === undefined)
    throw new InputError(
      `no label raises an alert, and --loss ${wanted.loss} is about alerts; name those that do in the experiment (alerts) and train again`,
    );
  const kept = keptByAlerts(stops, wanted);
  if (kept !== null) return kept;
  const { level, confidence } = wanted;
  const counts = alertThresholds.map((threshold) => alertsAt(stops, threshold));
  const most = Math.max(...counts.map(({ items }) => items));
  const corrected = 1 - (1 - confidence) / alertThresholds.length;
  const bounds = counts.map((own) => upperBound({ ...own, confidence: corrected }));
  throw new InputError(
    `no threshold shows that at most ${level * 100}% of early alerts lose, with ${confidence * 100}% confidence. Of these ${threads.length} threads at most ${most} raise an alert before their end; ${smallestCalibration({ level, confidence: corrected })} are needed even where none loses. Give more threads, or --risk-level ${(Math.ceil(1000 * Math.min(...bounds)) / 1000).toFixed(3)}`,
  );
}

function isAboutAlerts({ loss }: Pick<GuaranteeWanted, 'loss'>): boolean {
  return loss === 'withdrawn' || loss === 'false-alert';
}

/** Of threads that raise an alert before their end; null where no threshold is shown to keep it. */
function keptByAlerts(threads: readonly (readonly ThresholdStop[])[], wanted: GuaranteeWanted): KeptGuarantee | null {
  const kept = learnThenTestSome({
    ...wanted,
    thresholds: alertThresholds,
    countsAt: (threshold) => alertsAt(threads, threshold),
  });
  return kept && { ...kept, er: readAt(threads, kept.threshold) };
}

function keptByStops(threads: readonly (readonly ThresholdStop[])[], wanted: GuaranteeWanted): KeptGuarantee {
  const smallest = smallestCalibration(wanted);
  if (threads.length < smallest)
    throw new InputError(
      `${threads.length} threads cannot show that at most ${wanted.level * 100}% of predictions would change, with ${wanted.confidence * 100}% confidence: that takes ${smallest}, even where none changes. Give more threads, which need no labels, or allow more with --risk-level`,
    );
  const losses = lossesByPlace(threads);
  const items = threads.length;
  const lossesAt = (threshold: number) => losses[calibrationThresholds.indexOf(threshold)];
  const kept = learnThenTest({ ...wanted, thresholds: calibrationThresholds, items, lossesAt });
  if (kept === null) throw unreachable({ losses: losses[0], items }, wanted);
  return { ...kept, er: readAt(threads, kept.threshold) };
}

/** The alerts before the end of their thread, and those of them that lose. */
function alertsAt(
  threads: readonly (readonly ThresholdStop[])[],
  threshold: number,
): { items: number; losses: number } {
  const chosen = calibrationThresholds.indexOf(threshold);
  const stops = threads.flatMap((own) => own.findLast(({ place }) => place <= chosen) ?? []);
  const alerting = stops.filter(({ isEarlyAlert }) => isEarlyAlert);
  return { items: alerting.length, losses: alerting.filter(({ loses: lost }) => lost).length };
}

/** Mean share of the posts that a threshold reads. */
function readAt(threads: readonly (readonly ThresholdStop[])[], threshold: number): number {
  const chosen = calibrationThresholds.indexOf(threshold);
  return mean(threads.map((stops) => stops.findLast(({ place }) => place <= chosen)?.read ?? 1));
}

/** A stop of a thread at some of the thresholds. */
interface ThresholdStop {
  /** Of the first of these thresholds. */
  readonly place: number;
  /** Share of the posts. */
  readonly read: number;
  /** Whether it raises an alert before the end. */
  readonly isEarlyAlert: boolean;
  readonly loses: boolean;
}

/** From the most careful to the earliest: stops differ only between thresholds with a highest score so far between them. */
function thresholdStops(
  thread: ReplayedThread,
  wanted: Omit<GuaranteeWanted, 'level' | 'confidence'>,
): ThresholdStop[] {
  const { limits, alerts = [] } = wanted;
  const { posts } = thread;
  const found: ThresholdStop[] = [];
  let place = 0;
  for (const score of highestScores(posts).reverse()) {
    const { postsUsed } = stopIn({ threshold: score, limits }, posts);
    const isEarlyAlert = postsUsed < posts.length && alerts.includes(thread.labelAt(postsUsed) ?? '');
    found.push({ place, read: postsUsed / posts.length, isEarlyAlert, loses: loses(thread, postsUsed, wanted) });
    place = calibrationThresholds.findIndex((threshold) => threshold < score);
    if (place < 0) break;
  }
  return found;
}

/** Below every score, then each score that is higher than all before it. */
function highestScores(posts: ReplayedThread['posts']): number[] {
  const found = [Number.NEGATIVE_INFINITY];
  for (const { score } of posts) if (score > found[found.length - 1]) found.push(score);
  return found;
}

/** How many threads lose at each of the thresholds. */
function lossesByPlace(threads: readonly (readonly ThresholdStop[])[]): number[] {
  const changes = calibrationThresholds.map(() => 0);
  for (const stops of threads)
    for (const [index, { place, loses }] of stops.entries())
      changes[place] += Number(loses) - Number(stops[index - 1]?.loses ?? false);
  let losses = 0;
  return changes.map((change) => {
    losses += change;
    return losses;
  });
}

/** A deadline alone loses on too many threads. */
function unreachable(counts: { losses: number; items: number }, { level, confidence }: GuaranteeWanted): InputError {
  const bound = upperBound({ ...counts, confidence });
  return new InputError(
    `with this deadline ${counts.losses} of the ${counts.items} threads lose whatever the score says, so at most ${level * 100}% cannot be shown; at most ${(100 * bound).toFixed(1)}% can. Give a later deadline, or --risk-level ${(Math.ceil(1000 * bound) / 1000).toFixed(3)}`,
  );
}

function loses(
  { labelAt, posts, gold }: ReplayedThread,
  stop: number,
  { loss, alerts = [] }: Pick<GuaranteeWanted, 'loss' | 'alerts'>,
): boolean {
  if (stop === posts.length) return false;
  const [atStop, atEnd] = [labelAt(stop), labelAt(posts.length)];
  switch (loss) {
    case 'disagreement':
      return atStop !== atEnd;
    case 'harm':
      return atEnd === gold && atStop !== gold;
    case 'withdrawn':
      return !alerts.includes(atEnd ?? '');
    case 'false-alert':
      return !alerts.includes(gold ?? '');
  }
}
