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

/** The fields of a judgement that states read. */
export interface SeenJudgement {
  /** Index into the task's labels; −1 if the detector gave none. */
  readonly label: number;
  /** [labels]; null if the detector gave none. */
  readonly probabilities: ArrayLike<number> | null;
}

export function lastJudgementFeatureCount(labels: number): number {
  return labels + 3;
}

/**
 * Features of a thread's judgements after each post. Each call reads the judgement of the next prefix, or null if the
 * detector was not queried, and returns [labels + 3]: the log-odds of every label but the first against the first, the
 * margin between the likeliest label and the next in log-odds, ln of 1 + the posts since that judgement, ln of 1 + the
 * number of judgements in a row with the same label, and ln of the posts read. A detector without probabilities counts
 * as certain. Before the first judgement, and after one without a label, log-odds, margin and streak are 0.
 */
export function growingLastJudgement(labels: number): (judgement: SeenJudgement | null) => number[] {
  const nothing = new Array<number>(labels).fill(0);
  let logs = nothing;
  let last = -1;
  let streak = 0;
  let queriedAt = 0;
  let length = 0;
  return (judgement) => {
    length++;
    if (judgement !== null) {
      const { label, probabilities } = judgement;
      if (label < 0) streak = 0;
      else streak = label === last ? streak + 1 : 1;
      const certain = nothing.map((_, index) => Number(index === label));
      logs = label < 0 ? nothing : clippedLogs(probabilities ?? certain);
      last = label;
      queriedAt = length;
    }
    return [...oddsAndMargin(logs), Math.log(1 + length - queriedAt), Math.log(1 + streak), Math.log(length)];
  };
}
