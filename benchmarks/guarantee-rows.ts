import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { calibrationThresholds as thresholds } from '../experiments/stop-agent/calibrate.ts';
import { learnThenTest } from '../src/metrics/learn-then-test.ts';
import { mean } from '../src/metrics/summary-statistics.ts';

/* Threads as benchmarks/guarantee-scores.ts writes them, and what thresholds do to them. */

const scoredRowSchema = z.object({
  id: z.string(),
  /** Whether the agent learnt to stop from it; else nothing of the run has seen it. */
  isLearnt: z.boolean(),
  /** Time of the first post that has one. */
  opened: z.string().nullable(),
  /** Of each post: since the claim, the detector's label as a number within this thread, its confidence, and the score. */
  hours: z.array(z.number().nullable()),
  labels: z.array(z.number()),
  confidence: z.array(z.number()),
  settled: z.array(z.number()),
  /** The score of benchmarks/guarantee-boosting.py, where that ran. */
  boosting: z.array(z.number()).optional(),
});
export type ScoredRow = z.infer<typeof scoredRowSchema>;

export const scores = ['settled', 'confidence', 'boosting'] as const;
export type Score = (typeof scores)[number];

/** The held-out threads of a file. */
export function heldOutRows(file: string): ScoredRow[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => scoredRowSchema.parse(JSON.parse(line))).filter(({ isLearnt }) => !isLearnt);
}

/** The stop of a thread at a threshold. */
export function stopOf(row: ScoredRow, { score, threshold }: { score: Score; threshold: number }) {
  const posts = row.labels.length;
  const first = row[score]?.findIndex((each) => each > threshold) ?? -1;
  const postsUsed = first < 0 ? posts : first + 1;
  return { postsUsed, read: postsUsed / posts, changes: Number(row.labels[postsUsed - 1] !== row.labels[posts - 1]) };
}

/** Outcomes of threads under a score, by threshold. */
export interface Outcomes {
  /** Mean share of posts read, and share of predictions that change. */
  readonly read: readonly number[];
  readonly changed: readonly number[];
  /** Threads whose prediction begins to change (1) or no longer does (−1) from the threshold before to this one. */
  readonly flips: readonly (readonly { thread: number; by: number }[])[];
}

export function outcomesOf(rows: readonly ScoredRow[], score: Score, at: readonly number[] = thresholds): Outcomes {
  const stops = at.map((threshold) => rows.map((row) => stopOf(row, { score, threshold })));
  return {
    read: stops.map((each) => mean(each.map(({ read }) => read))),
    changed: stops.map((each) => mean(each.map(({ changes }) => changes))),
    flips: stops.map((each, place) =>
      each.flatMap(({ changes }, thread) => {
        const by = changes - (stops[place - 1]?.[thread].changes ?? 0);
        return by === 0 ? [] : [{ thread, by }];
      }),
    ),
  };
}

/**
 * Place of the threshold that Learn then Test finds, as `earshot calibrate` does with its defaults.
 * @param counts calibration threads, and how often each thread is among them
 */
export function calibratedPlace(
  { flips }: Outcomes,
  counts: { items: number; of: (thread: number) => number },
): number {
  let place = 0;
  let losses = 0;
  const lossesAt = () => {
    for (const { thread, by } of flips[place]) losses += by * counts.of(thread);
    place++;
    return losses;
  };
  const threshold = learnThenTest({ level: 0.05, confidence: 0.9, items: counts.items, thresholds, lossesAt });
  return threshold === null ? 0 : thresholds.indexOf(threshold.threshold);
}

/** The earliest threshold at which at most 5% of these very threads change. */
export function oracleThreshold(rows: readonly ScoredRow[], score: Score): number {
  return thresholds[outcomesOf(rows, score).changed.findLastIndex((each) => each <= 0.05)];
}
