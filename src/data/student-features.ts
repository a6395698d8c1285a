import { likeliest } from '../likeliest.ts';

/** The lower limit of probabilities, so that their logarithms stay finite. */
const nearlyCertain = 1e-4;

/** ln of each probability, limited. */
export function clippedLogs(probabilities: ArrayLike<number>): number[] {
  return Array.from(probabilities, (probability) => Math.log(Math.max(nearlyCertain, probability)));
}

/** Log-odds of every label but the first against the first, and the margin between the likeliest label and the next. */
export function oddsAndMargin(logs: readonly number[]): number[] {
  const [first, second] = [...logs].sort((a, b) => b - a);
  return [...logs.slice(1).map((log) => log - logs[0]), first - second];
}

/** Numbers per post that a student adds to the state. */
export function studentFeatureCount(labels: number): number {
  return labels + 2;
}

/**
 * The student's part of the state at each prefix of a growing thread: `oddsAndMargin`, ln of the posts seen, and ln of
 * the number of posts in a row with the same label. Each call reads the student's probabilities for the next prefix.
 * Training, decisions and exported policies (here and in earshot_policy.py) share these numbers.
 */
export function growingStudentFeatures(): (probabilities: readonly number[]) => number[] {
  let posts = 0;
  let lastLabel = -1;
  let unchanged = 0;
  return (probabilities) => {
    const label = likeliest(probabilities);
    unchanged = label === lastLabel ? unchanged + 1 : 1;
    lastLabel = label;
    posts++;
    return [...oddsAndMargin(clippedLogs(probabilities)), Math.log(posts), Math.log(unchanged)];
  };
}
