import { clippedLogs, oddsAndMargin } from './student-features.ts';

/*
 * What a reader knows of its detector while it reads: the last judgement that it queried. Training, deciding and exported
 * policies (here and in earshot_policy.py) share these numbers.
 */

/** Numbers a post that `lastJudgementFeatures` makes. */
export function lastJudgementFeatureCount(labels: number): number {
  return labels + 3;
}

/** What they are, for a manifest. */
export function lastJudgementMeaning([first, ...others]: readonly string[]): string {
  return `of the last judgement queried: log-odds of ${others.join(', ')} against ${first} (probabilities at least 1e-4; a label alone counts as certain; 0 without a label), the margin between its likeliest label and the next in log-odds, ln of 1 + the posts since, ln of 1 + how many judgements in a row said the same; then ln of the posts seen`;
}

/**
 * What is known of the judgements after each of the first `posts` posts, row-major [posts, labels + 3]: log-odds of every
 * label but the first against the first, the margin between the likeliest label and the next in log-odds (with two labels
 * the size of the log-odds), ln of 1 + the posts since that judgement, ln of 1 + how many judgements in a row said the same,
 * and ln of the posts seen. A detector without probabilities is as sure as can be; before the first judgement, and after one
 * that gave no label, log-odds, margin and streak are 0.
 * @param judgements.predicted label of each prefix, −1 for none; only prefixes that were queried are read
 * @param judgements.probabilities row-major [prefixes, labels]; NaN where the detector gave none
 * @param options.queriedLengths lengths of the queried prefixes, increasing
 */
export function lastJudgementFeatures(
  { predicted, probabilities }: { predicted: ArrayLike<number>; probabilities: Float32Array },
  { labels, queriedLengths, posts }: { labels: number; queriedLengths: readonly number[]; posts: number },
): Float32Array {
  const width = lastJudgementFeatureCount(labels);
  const features = new Float32Array(posts * width);
  const isQueried = new Set(queriedLengths);
  const nothing = new Array<number>(labels).fill(0);
  let logs = nothing;
  let said = -1;
  let streak = 0;
  let queriedAt = 0;
  for (let length = 1; length <= posts; length++) {
    if (isQueried.has(length)) {
      const label = predicted[length - 1];
      const row = probabilities.subarray((length - 1) * labels, length * labels);
      if (label < 0) streak = 0;
      else streak = label === said ? streak + 1 : 1;
      logs =
        label < 0
          ? nothing
          : clippedLogs(row.some(Number.isNaN) ? nothing.map((_, own) => Number(own === label)) : row);
      said = label;
      queriedAt = length;
    }
    const since = Math.log(1 + length - queriedAt);
    features.set([...oddsAndMargin(logs), since, Math.log(1 + streak), Math.log(length)], (length - 1) * width);
  }
  return features;
}
