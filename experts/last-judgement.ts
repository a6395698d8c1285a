import type { JudgementSequence } from './judgement-sequence.ts';
import { askedLengths, type PrefixSchedule } from './prefix-schedule.ts';

/*
 * What a reader knows of its detector while it reads: the last judgement that a schedule had it ask for. The bundle's
 * readers compute the same (checkpoints/bundle/last-judgement.ts, earshot_policy.py).
 */

/** Probabilities are clipped at this distance from 0, so that their logarithms stay finite. */
const nearlyCertain = 1e-4;

/** Numbers a post that `lastJudgementFeatures` makes. */
export function lastJudgementFeatureCount(labels: readonly string[]): number {
  return labels.length + 3;
}

/**
 * What is known of the judgements after each of the first `posts` posts, row-major [posts, labels + 3]: log-odds of every
 * label but the first against the first, the margin between the likeliest label and the next in log-odds (with two labels
 * the size of the log-odds), ln of 1 + the posts since that judgement, ln of 1 + how many judgements in a row said the same,
 * and ln of the posts seen. A detector without probabilities is as sure as can be; before the first judgement, and after one
 * that gave no label, log-odds and margin are 0, as is the streak.
 * @param schedule when the detector is asked; prefixes longer than the sequence are not judged
 */
export function lastJudgementFeatures(
  { labels, predicted, probabilities }: JudgementSequence,
  { schedule, posts }: { schedule: PrefixSchedule; posts: number },
): Float32Array {
  const width = lastJudgementFeatureCount(labels);
  const features = new Float32Array(posts * width);
  const asked = new Set(askedLengths({ schedule, posts: Math.min(posts, predicted.length) }));
  let told: number[] = new Array<number>(labels.length).fill(0);
  let said = -1;
  let streak = 0;
  let askedAt = 0;
  for (let length = 1; length <= posts; length++) {
    if (asked.has(length)) {
      const label = predicted[length - 1];
      const row = probabilities.subarray((length - 1) * labels.length, length * labels.length);
      streak = label < 0 ? 0 : label === said ? streak + 1 : 1;
      said = label;
      askedAt = length;
      const logOf = (value: number) => Math.log(Math.max(nearlyCertain, value));
      if (label < 0) told = told.map(() => 0);
      else if (row.some(Number.isNaN)) told = told.map((_, own) => logOf(Number(own === label)));
      else told = Array.from(row, logOf);
    }
    const [first, second] = [...told].sort((a, b) => b - a);
    const odds = told.slice(1).map((log) => log - told[0]);
    const since = Math.log(1 + length - askedAt);
    features.set([...odds, first - second, since, Math.log(1 + streak), Math.log(length)], (length - 1) * width);
  }
  return features;
}
