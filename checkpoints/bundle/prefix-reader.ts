import * as z from 'zod/mini';
import { floatsFromBase64 } from '../../src/base64-floats.ts';
import { growingStudentFeatures } from '../../src/data/student-features.ts';
import { softmax } from '../../src/softmax.ts';
import { type TextHasherOptions, textHasher } from '../../src/text/text-hasher.ts';
import { hashingIdentitySchema } from './hashing-identity.ts';

/*
 * The local classifier of prefixes, and what a student of that kind adds to the state, on plain arrays: the same
 * arithmetic as experts/detectors/local/, post by post.
 */

/** As much of a saved local detector as reading needs. */
export const linearModelSchema = z.object({
  labels: z.array(z.string()).check(z.minLength(2)),
  encoder: z.object({ name: z.string() }),
  dimensions: z.int(),
  features: z.object({
    replyWeight: z.number(),
    loneClaimWeight: z.number(),
    postCountWeight: z.number(),
  }),
  /** 32-bit floats, little-endian, base64; `weights` is [classes − 1, 2 · dimensions + 2]. */
  dimensionWeights: z.string(),
  weights: z.string(),
  temperature: z.number(),
});
export const hashingModelSchema = z.extend(linearModelSchema, { encoder: hashingIdentitySchema });
export type HashingModel = z.infer<typeof hashingModelSchema>;

/** What a classifier says of a thread that grows: each call takes the text of the next post. */
export type GrowingPrefix = (text: string) => readonly number[];

export interface PrefixReader {
  readonly labels: readonly string[];
  /** Begins a thread. Each post costs the same, however many came before it. */
  open(): GrowingPrefix;
}

/** Reads prefixes of threads with a saved local detector. */
export function prefixReader(model: HashingModel): PrefixReader {
  const { labels, dimensions, temperature } = model;
  const { replyWeight, loneClaimWeight, postCountWeight } = model.features;
  const dimensionWeights = floatsFromBase64(model.dimensionWeights);
  const weights = floatsFromBase64(model.weights);
  const embed = embedder(model.encoder);
  const width = 2 * dimensions + 2;
  const rowOf = (label: number) => weights.subarray((label - 1) * width, label * width);

  return {
    labels,
    open() {
      let posts = 0;
      let claim: Float64Array = new Float64Array(0);
      const replies = new Float64Array(dimensions);
      return (text) => {
        const post = weighted(embed(text), dimensionWeights);
        if (posts === 0) claim = post;
        else for (const [dimension, value] of post.entries()) replies[dimension] += value;
        posts++;
        const claimScale = (posts === 1 ? loneClaimWeight : 1) * inverse(length(claim));
        const replyScale = replyWeight * inverse(length(replies));
        const logits = labels.map((_, label) => {
          if (label === 0) return 0;
          const row = rowOf(label);
          const counted = row[width - 2] * postCountWeight * Math.log(posts);
          const ofClaim = product(claim, row.subarray(0, dimensions)) * claimScale;
          return row[width - 1] + counted + ofClaim + product(replies, row.subarray(dimensions)) * replyScale;
        });
        return softmax(logits.map((logit) => logit / temperature));
      };
    },
  };
}

/** What a student adds to the state: each call takes the text of the next post and returns [labels + 2]. */
export function studentFeatures(student: PrefixReader): (text: string) => readonly number[] {
  const read = student.open();
  const features = growingStudentFeatures();
  return (text) => features(read(text));
}

/** A function that embeds one text. */
export function embedder(options: TextHasherOptions): (text: string) => Float32Array {
  const hashInto = textHasher(options);
  return (text) => {
    const row = new Float32Array(options.dimensions);
    hashInto(text, row);
    return row;
  };
}

function weighted(embedding: Float32Array, weights: Float32Array): Float64Array {
  return Float64Array.from(embedding, (value, dimension) => value * weights[dimension]);
}

function product(left: Float64Array, right: Float32Array): number {
  return left.reduce((sum, value, index) => sum + value * right[index], 0);
}

function length(vector: Float64Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}

function inverse(value: number): number {
  return value === 0 ? 0 : 1 / value;
}
