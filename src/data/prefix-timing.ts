/* The times of replies to a claim, as four numbers of a growing prefix. earshot_policy.py computes the same. */

/** A post's fields besides its text that models read. */
export interface Timed {
  /** ISO 8601; null or undefined if unknown. */
  readonly time?: string | null;
}

/** Replies whose time since the claim is a column. */
const timedReplies = [1, 4];
/** ln of the replies, ln of the replies per minute, and ln of the minutes up to the first and to the fourth. */
export const timingColumns = 2 + timedReplies.length;
/** The limit of standardised columns, so that a thread of odd times does not outweigh its words. */
const mostDeviations = 3;

/** Columns of a prefix; null if unknown. */
export type TimingValues = readonly (number | null)[];

/**
 * Returns a function that reads a thread post by post and returns the columns of each prefix. A claim alone has none.
 * Minutes count from the claim, or from the first reply with a time if the claim has none.
 */
export function growingTiming(): (post: Timed) => TimingValues {
  let posts = 0;
  let start: number | null = null;
  const delays: (number | null)[] = timedReplies.map(() => null);
  return ({ time }) => {
    const now = time === null || time === undefined ? null : Date.parse(time);
    const replies = posts++;
    start ??= now;
    if (replies === 0) return new Array<null>(timingColumns).fill(null);
    const minutes = now === null || start === null ? null : Math.max(0, (now - start) / 60_000);
    const place = timedReplies.indexOf(replies);
    if (place >= 0 && minutes !== null) delays[place] = Math.log1p(minutes);
    return [Math.log1p(replies), minutes === null ? null : Math.log(replies / (minutes + 1)), ...delays];
  };
}

/** Means and standard deviations of the columns, [columns]. A deviation of 0 leaves its column out. */
export interface TimingScale {
  readonly means: readonly number[];
  readonly deviations: readonly number[];
}

/** Columns with mean 0 and deviation 1. An unknown one counts as the mean. */
export function standardisedTiming(values: TimingValues, { means, deviations }: TimingScale): number[] {
  return values.map((value, column) =>
    value === null || deviations[column] === 0
      ? 0
      : Math.max(-mostDeviations, Math.min(mostDeviations, (value - means[column]) / deviations[column])),
  );
}

/** Means and deviations of rows, each column over the rows that have it. @param weights of the rows */
export function timingScaleOf(rows: readonly TimingValues[], weights: ArrayLike<number>): TimingScale {
  const columns = Array.from({ length: timingColumns }, (_, column) => {
    const mean = (of: (value: number) => number) => {
      let [sum, total] = [0, 0];
      for (const [row, values] of rows.entries()) {
        const value = values[column];
        if (value === null) continue;
        sum += weights[row] * of(value);
        total += weights[row];
      }
      return total === 0 ? 0 : sum / total;
    };
    const center = mean((value) => value);
    const deviation = Math.sqrt(mean((value) => (value - center) ** 2));
    return { center, deviation: deviation < 1e-6 ? 0 : deviation };
  });
  return { means: columns.map(({ center }) => center), deviations: columns.map(({ deviation }) => deviation) };
}
