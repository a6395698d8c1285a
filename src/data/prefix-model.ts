import * as z from 'zod/mini';
import { softmax } from '../softmax.ts';

/*
 * A trained classifier of prefixes, as it is saved: TF-IDF of word and character n-grams, separately of the claim and
 * of the replies, under one softmax regression. zod/mini, because browsers read bundles, too.
 */

const range = z.object({ min: z.int(), max: z.int() });

/** The weights of some n-grams. Numbers of 32 bits, little-endian, base64. */
const blockSchema = z.object({
  /** Signed hashes of the n-grams, [n-grams]. */
  keys: z.string(),
  /** Inverse document frequencies, [n-grams]. */
  idf: z.string(),
  /** [n-grams, classes − 1]: class 0 is the reference. */
  weights: z.string(),
});
export type SavedBlock = z.infer<typeof blockSchema>;

const partSchema = z.object({ words: blockSchema, characters: blockSchema });

export const prefixModelSchema = z.object({
  labels: z.array(z.string()).check(z.minLength(2)),
  ngrams: z.object({ version: z.literal(1), words: range, characters: range }),
  claim: partSchema,
  replies: partSchema,
  /** The times of replies; absent if the model was trained without times. */
  timing: z.optional(
    z.object({
      /** [columns], as in `TimingScale`. */
      means: z.array(z.number()),
      deviations: z.array(z.number()),
      /** [columns, classes − 1] */
      weights: z.string(),
    }),
  ),
  /** The length of the claim's parts while there is no reply; 1 afterwards. */
  loneClaimWeight: z.number(),
  /** Intercepts of the classes; 0 for class 0. */
  intercepts: z.array(z.number()),
  temperature: z.number().check(z.positive()),
  /** Offsets of the classes, added to the logits after the temperature. */
  offsets: z.array(z.number()),
  /** A factor for the logits after the offsets, as in `LengthCalibration`. */
  calibration: z.object({
    scale: z.number().check(z.positive()),
    growth: z.number(),
    mostPosts: z.int().check(z.positive()),
  }),
  /** The identity of an encoder that reads the posts, too; null without one. */
  encoder: z.nullable(z.record(z.string(), z.unknown())),
});
export type PrefixModel = z.infer<typeof prefixModelSchema>;

/** The probability of each class, from the logits for the first `posts` posts before the temperature. */
export function prefixProbabilities(
  { logits, posts }: { logits: ArrayLike<number>; posts: number },
  {
    temperature,
    offsets,
    calibration: { scale, growth, mostPosts },
  }: Pick<PrefixModel, 'temperature' | 'offsets' | 'calibration'>,
): number[] {
  const factor = scale * Math.min(posts, mostPosts) ** growth;
  return softmax(Array.from(logits, (logit, label) => factor * (logit / temperature + offsets[label])));
}

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
