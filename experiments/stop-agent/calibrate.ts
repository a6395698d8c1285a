import { firstStop } from '../../checkpoints/bundle/golden.ts';
import { type StopPromise, stopPromiseSchema } from '../../checkpoints/bundle/promise.ts';
import { InputError } from '../../src/errors.ts';
import {
  type Calibration,
  learnThenTest,
  type RiskLevel,
  smallestCalibration,
} from '../../src/metrics/learn-then-test.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { claimRegion } from './claim-region.ts';

/*
 * An operating point with a promise: the earliest threshold on a stopping score that loses on few enough threads, by Learn then
 * Test (src/metrics/learn-then-test.ts).
 */

/** A thread that nobody learnt from, as an agent and its detector read it. */
export interface CalibrationThread {
  readonly claim: string;
  readonly posts: number;
  /** π(stop) at every post, given that the agent has continued so far; [posts]. */
  readonly stopProbability: Float32Array;
  /** The detector's label of the first so many posts; null where it gives none. */
  labelAt(posts: number): string | null;
  /** What the detector is sure of after every post; null where that would cost too much. */
  readonly confidence: Float32Array | null;
  /** Null where unknown. */
  readonly gold: string | null;
}

export interface PromiseWanted extends RiskLevel {
  readonly loss: StopPromise['loss'];
}

/** What a stopping score reads where its threshold keeps the promise. */
export interface KeptPromise extends Calibration {
  /** Mean share of posts read. */
  readonly er: number;
}

/** From the most careful to the least, fixed before any thread is seen: never, then logits from 12 down to −6. */
export const thresholds: readonly number[] = [
  1,
  ...Array.from({ length: 73 }, (_, index) => 1 / (1 + Math.exp(index / 4 - 12))),
];

/**
 * The promise of an agent, and which claims are like those that it was found on.
 * @throws InputError for fewer threads than can show that the promise is kept
 */
export async function promiseFor(threads: readonly CalibrationThread[], wanted: PromiseWanted): Promise<StopPromise> {
  const { threshold, losses, bound, er } = keptBy(threads, ({ stopProbability }) => stopProbability, wanted);
  const { loss, level, confidence } = wanted;
  const shift = await claimRegion(threads.map(({ claim }) => claim));
  const found = { loss, level, confidence, threshold, threads: threads.length, losses, bound, er, shift };
  return stopPromiseSchema.parse(found);
}

/** The same promise by the detector's confidence, asked at every post; null where that is not known. */
export function keptByConfidence(threads: readonly CalibrationThread[], wanted: PromiseWanted): KeptPromise | null {
  if (threads.some(({ confidence }) => confidence === null)) return null;
  return keptBy(threads, ({ confidence }) => confidence ?? new Float32Array(0), wanted);
}

/** What an agent would read for other promises; null where there are too few threads for one. */
export function curveOf(
  threads: readonly CalibrationThread[],
  wanted: Omit<PromiseWanted, 'level'>,
): { level: number; kept: KeptPromise | null }[] {
  return [0.01, 0.02, 0.05, 0.1, 0.15, 0.2].map((level) => {
    const own = { ...wanted, level };
    const isPossible = threads.length >= smallestCalibration(own);
    return { level, kept: isPossible ? keptBy(threads, ({ stopProbability }) => stopProbability, own) : null };
  });
}

/**
 * The earliest stops of a score that keep the promise.
 * @param scoreOf a score at every post; the thread is decided at the first above the threshold
 * @throws as `promiseFor`
 */
export function keptBy(
  threads: readonly CalibrationThread[],
  scoreOf: (thread: CalibrationThread) => Float32Array,
  wanted: PromiseWanted,
): KeptPromise {
  const smallest = smallestCalibration(wanted);
  if (threads.length < smallest)
    throw new InputError(
      `${threads.length} fresh threads cannot show that at most ${wanted.level * 100} % lose, with confidence ${wanted.confidence * 100} %: that takes ${smallest}, even where none loses. Give more threads, or promise less`,
    );
  const stopOf = (thread: CalibrationThread, threshold: number) => firstStop(scoreOf(thread), threshold).stopStep + 1;
  const kept = learnThenTest({
    ...wanted,
    thresholds,
    items: threads.length,
    lossesAt: (threshold) => threads.filter((thread) => loses(thread, stopOf(thread, threshold), wanted.loss)).length,
  });
  if (kept === null) throw new Error('reading everything loses nothing, and was refused');
  const er = mean(threads.map((thread) => stopOf(thread, kept.threshold) / thread.posts));
  return { ...kept, er };
}

function loses({ labelAt, posts, gold }: CalibrationThread, stop: number, loss: StopPromise['loss']): boolean {
  if (stop === posts) return false;
  const [atStop, atEnd] = [labelAt(stop), labelAt(posts)];
  return loss === 'disagreement' ? atStop !== atEnd : atEnd === gold && atStop !== gold;
}
