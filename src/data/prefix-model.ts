import * as z from 'zod/mini';
import { softmax } from '../softmax.ts';

/*
 * A classifier of prefixes that is trained here, as it is saved: TF-IDF of word and character n-grams, of the claim and of the
 * replies apart, under one softmax regression. zod/mini, because bundles are read in browsers, too.
 */

const range = z.object({ min: z.int(), max: z.int() });

/** What is known of some n-grams. Numbers of 32 bits, little-endian, base64. */
const blockSchema = z.object({
  /** Hashes of the n-grams, signed; [n-grams]. */
  keys: z.string(),
  /** [n-grams] */
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
  /** How fast replies come; only where the model was trained with times. */
  timing: z.optional(
    z.object({
      /** As `TimingScale`, [columns]. */
      means: z.array(z.number()),
      deviations: z.array(z.number()),
      /** [columns, classes − 1] */
      weights: z.string(),
    }),
  ),
  /** The claim's parts are so long while there is no reply, and of length 1 afterwards. */
  loneClaimWeight: z.number(),
  /** Of each class; 0 of class 0. */
  intercepts: z.array(z.number()),
  temperature: z.number().check(z.positive()),
  /** Of each class, added to its logit after the temperature. */
  offsets: z.array(z.number()),
  /** As `LengthCalibration`: a factor for the logits after the offsets. */
  calibration: z.object({
    scale: z.number().check(z.positive()),
    growth: z.number(),
    mostPosts: z.int().check(z.positive()),
  }),
  /** Of an encoder that reads the posts, too; null where there is none. */
  encoder: z.nullable(z.record(z.string(), z.unknown())),
});
export type PrefixModel = z.infer<typeof prefixModelSchema>;

/** The probability of each class, given the logits of so many posts before the temperature. */
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
