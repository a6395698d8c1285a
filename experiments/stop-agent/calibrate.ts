import { type Guarantee, guaranteeSchema } from '../../checkpoints/policy/guarantee.ts';
import { type Limits, stopIn } from '../../checkpoints/policy/stops.ts';
import { InputError } from '../../src/errors.ts';
import {
  type Calibration,
  learnThenTest,
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

/**
 * The guarantee of an agent, and which claims are like those that it was found on.
 * @throws InputError for fewer threads than can show that the guarantee is kept
 */
export async function guaranteeFor(threads: readonly CalibrationThread[], wanted: GuaranteeWanted): Promise<Guarantee> {
  const { threshold, losses, bound, er } = keptBy(threads, wanted);
  const { loss, level, confidence } = wanted;
  const shift = await claimRegion(threads.map(({ thread }) => thread.posts[0].text));
  const found = { loss, level, confidence, threshold, threads: threads.length, losses, bound, er, shift };
  return guaranteeSchema.parse(found);
}

/** The same guarantee by the detector's confidence, queried at every post; null where it gives no probabilities. */
export function keptByConfidence(threads: readonly CalibrationThread[], wanted: GuaranteeWanted): KeptGuarantee | null {
  if (threads.every(({ confidence }) => confidence.every((own) => own === 0))) return null;
  const byConfidence = threads.map((thread) => ({
    ...thread,
    posts: thread.posts.map(({ hours }, index) => ({ hours, score: thread.confidence[index] ?? 0 })),
  }));
  return keptBy(byConfidence, wanted);
}

/** What an agent would read for other guarantees; null where there are too few threads for one. */
export function curveOf(
  threads: readonly CalibrationThread[],
  wanted: Omit<GuaranteeWanted, 'level'>,
): { level: number; kept: KeptGuarantee | null }[] {
  return [0.01, 0.02, 0.05, 0.1, 0.15, 0.2].map((level) => {
    const own = { ...wanted, level };
    const isPossible = threads.length >= smallestCalibration(own);
    return { level, kept: isPossible ? keptBy(threads, own) : null };
  });
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
        return keptByStops(drawn, wanted).er;
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
  return keptByStops(stops, wanted);
}

function keptByStops(threads: readonly ThresholdStops[], wanted: GuaranteeWanted): KeptGuarantee {
  const smallest = smallestCalibration(wanted);
  if (threads.length < smallest)
    throw new InputError(
      `${threads.length} threads cannot show that at most ${wanted.level * 100}% of predictions would change, with ${wanted.confidence * 100}% confidence: that takes ${smallest}, even where none changes. Give more threads, which need no labels, or allow more with --max-disagreement`,
    );
  const lossesAt = (threshold: number) => threads.filter((stopsAt) => stopsAt(threshold).loses).length;
  const items = threads.length;
  const kept = learnThenTest({ ...wanted, thresholds: calibrationThresholds, items, lossesAt });
  if (kept === null) throw unreachable({ losses: lossesAt(1), items }, wanted);
  return { ...kept, er: mean(threads.map((stopsAt) => stopsAt(kept.threshold).read)) };
}

/** The share of a thread that a threshold reads, and whether it loses. */
type ThresholdStops = (threshold: number) => { readonly read: number; readonly loses: boolean };

/** Stops differ only between thresholds with a highest score so far between them. */
function thresholdStops(thread: ReplayedThread, { limits, loss }: GuaranteeWanted): ThresholdStops {
  const { posts } = thread;
  const at = (from: number) => {
    const { postsUsed } = stopIn({ threshold: from, limits }, posts);
    return { from, read: postsUsed / posts.length, loses: loses(thread, postsUsed, loss) };
  };
  const [first, ...steps] = highestScores(posts).map(at);
  return (threshold) => steps.findLast(({ from }) => from <= threshold) ?? first;
}

/** Below every score, then each score that is higher than all before it. */
function highestScores(posts: ReplayedThread['posts']): number[] {
  const found = [Number.NEGATIVE_INFINITY];
  for (const { score } of posts) if (score > found[found.length - 1]) found.push(score);
  return found;
}

/** A deadline alone loses on too many threads. */
function unreachable(counts: { losses: number; items: number }, { level, confidence }: GuaranteeWanted): InputError {
  const bound = upperBound({ ...counts, confidence });
  return new InputError(
    `with this deadline ${counts.losses} of the ${counts.items} threads lose whatever the score says, so at most ${level * 100}% cannot be shown; at most ${(100 * bound).toFixed(1)}% can. Give a later deadline, or --max-disagreement ${(Math.ceil(1000 * bound) / 1000).toFixed(3)}`,
  );
}

function loses({ labelAt, posts, gold }: ReplayedThread, stop: number, loss: Guarantee['loss']): boolean {
  if (stop === posts.length) return false;
  const [atStop, atEnd] = [labelAt(stop), labelAt(posts.length)];
  return loss === 'disagreement' ? atStop !== atEnd : atEnd === gold && atStop !== gold;
}
