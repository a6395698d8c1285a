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
