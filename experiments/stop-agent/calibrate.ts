import { type Guarantee, guaranteeSchema, isAboutAlerts, percent } from '../../checkpoints/policy/guarantee.ts';
import { listedIdentity } from '../../checkpoints/policy/manifest.ts';
import { type Limits, stopIn } from '../../checkpoints/policy/stops.ts';
import { counted } from '../../src/counted.ts';
import { threadIdentity } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { controlRisk } from '../../src/metrics/conformal-risk-control.ts';
import {
  binomialTail,
  type Calibration,
  learnThenTest,
  learnThenTestSome,
  type RiskLevel,
  smallestCalibration,
  upperBound,
} from '../../src/metrics/learn-then-test.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { Random } from '../../src/tensor/random.ts';
import { claimRegion, claimsOf } from './claim-region.ts';
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

/** The parts of a thread that tell whether an early stop loses. */
type ReplayedThread = Pick<CalibrationThread, 'posts' | 'labelAt' | 'gold'>;

export interface GuaranteeWanted extends RiskLevel {
  readonly loss: Guarantee['loss'];
  /** Labels that raise an alert; none unless given. */
  readonly alerts?: readonly string[] | undefined;
  /** Of the policy: a deadline is a stop like any other. */
  readonly limits: Limits;
  /** Those of \`earshot calibrate\` unless given. */
  readonly remedies?: Remedies;
}

/** Advice for users if a guarantee cannot be shown. */
interface Remedies {
  /** How they give more threads, as an imperative. */
  readonly threads: string;
  /** Where they allow more losses: what stands before the level. */
  readonly level: string;
}

const remediesOfCalibrate: Remedies = { threads: 'Give more threads', level: '--risk-level' };

/** These threads cannot show a guarantee. */
export class GuaranteeNotShown extends InputError {
  /** The guarantee that these threads can show, or the number of threads that it takes. */
  readonly remedy: string;

  constructor(reason: string, remedy: string) {
    super(`${reason}. ${remedy}`);
    this.remedy = remedy;
  }
}

/** A threshold that keeps the guarantee, and how much is read with it. */
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
 * @throws GuaranteeNotShown
 */
export async function guaranteeFor(threads: readonly CalibrationThread[], target: GuaranteeWanted): Promise<Guarantee> {
  const { loss, level, confidence } = target;
  const calibrated = calibrationOf(threads, target);
  const claims = await claimRegion(claimsOf(threads.map(({ thread }) => thread)));
  const listed = threads.map(({ thread }) => listedIdentity(threadIdentity(thread))).sort();
  return guaranteeSchema.parse({ loss, level, confidence, ...calibrated, claims, calibratedOn: listed });
}

/**
 * The threshold that keeps a guarantee on some threads, with the counts behind it.
 * @throws GuaranteeNotShown
 */
export function calibrationOf(
  threads: readonly ReplayedThread[],
  target: GuaranteeWanted,
): Pick<Guarantee, 'threshold' | 'threads' | 'alerts' | 'earlyAlerts' | 'losses' | 'bound' | 'er'> {
  const { threshold, items, losses, bound, er } = keptBy(threads, target);
  const counts = alertCounts(threads, { threshold, items }, target);
  return { threshold, threads: threads.length, ...counts, losses, bound, er };
}

/** Alerts under a guarantee: their number, or for a guarantee about predictions how many would be withdrawn. */
function alertCounts(
  threads: readonly ReplayedThread[],
  { threshold, items }: Pick<Calibration, 'threshold' | 'items'>,
  target: GuaranteeWanted,
): Pick<Guarantee, 'alerts' | 'earlyAlerts'> {
  if (isAboutAlerts(target)) return { alerts: items };
  if (target.alerts === undefined) return {};
  const stops = stopsOf(threads, { ...target, loss: 'withdrawn' });
  const { items: alerts, losses: withdrawn } = alertsAt(stops, threshold);
  const confidence = 0.975;
  const low = 1 - upperBound({ losses: alerts - withdrawn, items: alerts, confidence });
  return {
    earlyAlerts: { alerts, withdrawn, low, high: upperBound({ losses: withdrawn, items: alerts, confidence }) },
  };
}

/**
 * A guarantee on average over data sets, found on labelled threads that were judged and scored by cross-validation: no thread is set
 * aside.
 * @throws GuaranteeNotShown where there are too few threads for one, or a deadline alone loses on too many
 */
export async function guaranteeOnAverage(
  threads: readonly CalibrationThread[],
  target: Omit<GuaranteeWanted, 'confidence'>,
): Promise<Guarantee> {
  const { level, loss } = target;
  const calibration = keptOnAverage(threads, target);
  if (calibration === null)
    throw new GuaranteeNotShown(
      `${threads.length} labelled threads cannot show that at most ${100 * level}% of predictions would change on average`,
      'Label more, give at least 150 threads without labels, or allow more with guarantee.level',
    );
  const { threshold, losses, bound, er } = calibration;
  const claims = await claimRegion(claimsOf(threads.map(({ thread }) => thread)));
  const counts = { threads: threads.length, losses, bound, er };
  return guaranteeSchema.parse({ loss, level, confidence: null, threshold, ...counts, claims });
}

/** The earliest stops of a score that keep a guarantee on average; null where none can be shown to. */
export function keptOnAverage(
  threads: readonly ReplayedThread[],
  target: Omit<GuaranteeWanted, 'confidence'>,
): KeptGuarantee | null {
  const stops = threads.map((thread) => withLossesKept(thresholdStops(thread, target)));
  const calibration = controlRisk({
    thresholds: calibrationThresholds,
    items: threads.length,
    lossesAt: lossesOf(stops),
    level: target.level,
  });
  return calibration && { ...calibration, er: readAt(stops, calibration.threshold) };
}

/** Stops of a thread that loses at every threshold below the first one at which it loses: expected losses must not fall. */
function withLossesKept(stops: ThreadStops): ThreadStops {
  const first = stops.findIndex((stop) => stop.loses);
  return stops.map((stop, index) => ({ ...stop, loses: first >= 0 && index >= first }));
}

/** The guarantee by the detector's confidence, queried at every post; null if the detector gives no probabilities. */
export function keptByConfidence(threads: readonly CalibrationThread[], target: GuaranteeWanted): KeptGuarantee | null {
  if (threads.every(({ confidence }) => confidence.every((probability) => probability === 0))) return null;
  const byConfidence = threads.map((thread) => ({
    ...thread,
    posts: thread.posts.map(({ hours }, index) => ({ hours, score: thread.confidence[index] ?? 0 })),
  }));
  return keptByStops(stopsOf(byConfidence, target), target);
}

/** The posts that an agent would read under other risk levels; null for a level that takes more threads. */
export function curveOf(
  threads: readonly CalibrationThread[],
  target: Omit<GuaranteeWanted, 'level'>,
): { level: number; kept: KeptGuarantee | null }[] {
  const stops = stopsOf(threads, target);
  return [0.01, 0.02, 0.05, 0.1, 0.15, 0.2].map((level) => ({ level, kept: keptByStops(stops, { ...target, level }) }));
}

/** The posts that a guarantee would read with other numbers of threads: means over resamples, drawn with replacement. */
export function curveOverSizes(
  threads: readonly CalibrationThread[],
  target: GuaranteeWanted,
): { threads: number; er: number }[] {
  const random = Random.seeded({ seed: 1, purpose: 'calibration sizes' });
  const stops = stopsOf(threads, target);
  return [0.25, 0.5, 1, 2, 4]
    .map((factor) => Math.round(factor * threads.length))
    .filter((size) => size >= smallestCalibration(target))
    .map((size) => {
      const rates = Array.from({ length: 10 }, () => {
        const drawn = Array.from({ length: size }, () => stops[random.integer(stops.length)]);
        return keptByStops(drawn, target)?.er ?? 1;
      });
      return { threads: size, er: mean(rates) };
    });
}

/**
 * The earliest stops of a score that keep the guarantee.
 * @throws GuaranteeNotShown
 */
export function keptBy(threads: readonly ReplayedThread[], target: GuaranteeWanted): KeptGuarantee {
  const stops = stopsOf(threads, target);
  const calibration = keptByStops(stops, target);
  if (calibration === null) throw isAboutAlerts(target) ? alertsNotShown(stops, target) : notShown(stops, target);
  return calibration;
}

/** Null where no threshold is shown to keep it. */
function keptByStops(threads: readonly ThreadStops[], target: GuaranteeWanted): KeptGuarantee | null {
  const items = threads.length;
  if (items < smallestCalibration(target)) return null;
  const calibration = isAboutAlerts(target)
    ? learnThenTestSome({
        ...target,
        thresholds: alertThresholds,
        countsAt: (threshold) => alertsAt(threads, threshold),
      })
    : learnThenTest({ ...target, thresholds: calibrationThresholds, items, lossesAt: lossesOf(threads) });
  return calibration && { ...calibration, er: readAt(threads, calibration.threshold) };
}

/** Too few threads, or a deadline alone loses on too many. */
function notShown(threads: readonly ThreadStops[], target: GuaranteeWanted): GuaranteeNotShown {
  const { level, confidence, remedies = remediesOfCalibrate } = target;
  const items = threads.length;
  const smallest = smallestCalibration(target);
  if (items < smallest) {
    const shown = upperBound({ losses: 0, items, confidence });
    return new GuaranteeNotShown(
      `${counted(items, 'thread')} cannot show that at most ${percent(level)} of predictions would change, with ${percent(confidence)} confidence: that takes ${smallest}, even where none changes`,
      `${remedies.threads}, which need no labels${items === 0 ? '' : `, or allow more: ${remedies.level} ${Math.ceil(1000 * shown) / 1000} or above`}`,
    );
  }
  const losses = lossesOf(threads)(calibrationThresholds[0]);
  return new GuaranteeNotShown(
    `with this deadline ${losses} of the ${items} threads lose whatever the score says, so at most ${percent(level)} cannot be shown`,
    `Give a later deadline. ${remedyFor([{ losses, items }], { ...target, threads: items })}`,
  );
}

function alertsNotShown(threads: readonly ThreadStops[], target: GuaranteeWanted): GuaranteeNotShown {
  const { level, loss } = target;
  const counts = alertThresholds.map((threshold) => alertsAt(threads, threshold));
  const most = counts.reduce((first, count) => (count.items > first.items ? count : first));
  const lost = loss === 'withdrawn' ? 'would be withdrawn' : 'are false';
  return new GuaranteeNotShown(
    `${threads.length} threads cannot show that at most ${percent(level)} of early alerts ${lost}, with ${percent(target.confidence)} confidence: at most ${most.items} of them raise an alert before their end, and ${most.losses} of these ${lost}; ${fewestEarlyAlerts(target)} are needed even where none loses`,
    remedyFor(counts, { ...target, confidence: confidenceOfEach(target), threads: threads.length }),
  );
}

/** At each of the thresholds, where every one is tested. */
function confidenceOfEach({ confidence }: Pick<RiskLevel, 'confidence'>): number {
  return 1 - (1 - confidence) / alertThresholds.length;
}

/** The fewest alerts before the end of a thread that can show a guarantee about them: as many as show it where none of them loses. */
export function fewestEarlyAlerts({ level, confidence }: RiskLevel): number {
  return smallestCalibration({ level, confidence: confidenceOfEach({ confidence }) });
}

/** How many threads would show a guarantee if as many lose as did, or which level these show. */
function remedyFor(
  counts: readonly { readonly items: number; readonly losses: number }[],
  target: Pick<GuaranteeWanted, 'level' | 'confidence' | 'remedies'> & { threads: number },
): string {
  const { level, confidence, threads, remedies = remediesOfCalibrate } = target;
  const enough = counts.flatMap(({ items, losses }) => {
    const needed = items === 0 ? null : itemsNeeded(losses / items, { level, confidence });
    return needed === null ? [] : [(needed * threads) / items];
  });
  const most = `about ${roundedUp(Math.min(...enough))} such threads would show it`;
  const more =
    enough.length > 0
      ? `${remedies.threads}: ${most}`
      : counts.every(({ items }) => items === 0)
        ? remedies.threads
        : 'So many lose that no number of such threads would show it';
  const shown = Math.ceil(1000 * Math.min(...counts.map((count) => upperBound({ ...count, confidence })))) / 1000;
  return shown < 1 ? `${more}. Or allow more: ${remedies.level} ${shown} can be shown` : more;
}

/** How many items show the level if this share of them loses; null where none do. */
function itemsNeeded(share: number, risk: RiskLevel): number | null {
  if (share >= risk.level) return null;
  const isEnough = (items: number) => {
    return binomialTail({ losses: Math.ceil(share * items), items, share: risk.level }) <= 1 - risk.confidence;
  };
  let items = smallestCalibration(risk);
  while (!isEnough(items) && items < mostItems) items = Math.ceil(1.05 * items);
  return items < mostItems ? items : null;
}

/** Nobody has so many. */
const mostItems = 1e5;

/** To two digits: more would promise too much. */
function roundedUp(count: number): number {
  const digit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return digit * Math.ceil(count / digit);
}

/** The alerts before the end of their thread, and those of them that lose. */
function alertsAt(threads: readonly ThreadStops[], threshold: number): { items: number; losses: number } {
  const chosen = calibrationThresholds.indexOf(threshold);
  const stops = threads.flatMap((stops) => stops.findLast(({ place }) => place <= chosen) ?? []);
  const alerting = stops.filter(({ isEarlyAlert }) => isEarlyAlert);
  return { items: alerting.length, losses: alerting.filter(({ loses: lost }) => lost).length };
}

/** Mean share of the posts that a threshold reads. */
function readAt(threads: readonly ThreadStops[], threshold: number): number {
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
type ThreadStops = readonly ThresholdStop[];

/** @throws InputError for a guarantee about alerts where no label raises one */
function stopsOf(
  threads: readonly ReplayedThread[],
  target: Parameters<typeof thresholdStops>[1],
): readonly ThreadStops[] {
  if (isAboutAlerts(target) && target.alerts === undefined)
    throw new InputError(
      `no label raises an alert, and --loss ${target.loss} is about alerts; name those that do in the experiment (alerts) and train again`,
    );
  return threads.map((thread) => thresholdStops(thread, target));
}

/** From the most careful to the earliest: stops differ only between thresholds with a highest score so far between them. */
function thresholdStops(
  thread: ReplayedThread,
  target: Omit<GuaranteeWanted, 'level' | 'confidence'>,
): ThresholdStop[] {
  const { limits, alerts = [] } = target;
  const { posts } = thread;
  const stops: ThresholdStop[] = [];
  let place = 0;
  for (const score of highestScores(posts).reverse()) {
    const { postsUsed } = stopIn({ threshold: score, limits }, posts);
    const isEarlyAlert = postsUsed < posts.length && alerts.includes(thread.labelAt(postsUsed) ?? '');
    stops.push({ place, read: postsUsed / posts.length, isEarlyAlert, loses: loses(thread, postsUsed, target) });
    place = calibrationThresholds.findIndex((threshold) => threshold < score);
    if (place < 0) break;
  }
  return stops;
}

/** Below every score, then each score that is higher than all before it. */
function highestScores(posts: ReplayedThread['posts']): number[] {
  const highest = [Number.NEGATIVE_INFINITY];
  for (const { score } of posts) if (score > highest[highest.length - 1]) highest.push(score);
  return highest;
}

/** How many threads lose at a threshold. */
function lossesOf(threads: readonly ThreadStops[]): (threshold: number) => number {
  const losses = calibrationThresholds.map(() => 0);
  for (const stops of threads)
    for (const [index, { place, loses }] of stops.entries())
      losses[place] += Number(loses) - Number(stops[index - 1]?.loses ?? false);
  for (const place of losses.keys()) losses[place] += losses[place - 1] ?? 0;
  return (threshold) => losses[calibrationThresholds.indexOf(threshold)];
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
