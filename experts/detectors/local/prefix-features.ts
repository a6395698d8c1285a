import { z } from 'zod';
import type { Thread } from '../../../src/data/thread.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { inverseDocumentFrequency } from '../../../src/text/tf-idf.ts';

export const prefixFeatureOptionsSchema = z.strictObject({
  inverseDocumentFrequency: z
    .boolean()
    .default(true)
    .describe(
      'weigh each dimension by its inverse document frequency in the training posts; changes nothing for dense encoders',
    ),
  replyWeight: z
    .number()
    .min(0)
    .default(2)
    .describe('length of the reply part, relative to the length 1 of the claim part'),
  loneClaimWeight: z
    .number()
    .min(0)
    .default(2)
    .describe(
      'length of the claim part as long as there is no reply, so that first posts do not look like weak evidence',
    ),
  postCountWeight: z.number().min(0).default(0).describe('factor of the feature ln(posts seen); 0 leaves it out'),
});

export type PrefixFeatureOptions = z.infer<typeof prefixFeatureOptionsSchema>;

/**
 * Features of a prefix: the claim's embedding scaled to length 1 (`loneClaimWeight` if it stands alone), the mean of
 * the replies' embeddings scaled to length `replyWeight`, both after weighing the dimensions, then ln(posts seen) and
 * a constant. A part without content is zero.
 */
export function featureCount(dimensions: number): number {
  return 2 * dimensions + 2;
}

export interface TrainingRows {
  /** Row-major `[rows, featureCount]`. */
  readonly features: Float32Array;
  /** For each row, the index of its thread in `threads`. */
  readonly threadOfRow: Int32Array;
  /** For each row, the posts in its prefix. */
  readonly lengthOfRow: Int32Array;
  readonly dimensionWeights: Float32Array;
}

/** Prefix lengths 1, 2, 4, … and the whole thread, or its first `maxPosts` posts: a long thread makes few rows more. */
function trainingLengths(options: { posts: number; maxPosts: number }): number[] {
  const last = Math.min(options.posts, options.maxPosts);
  const lengths: number[] = [];
  for (let length = 1; length < last; length *= 2) lengths.push(length);
  return [...lengths, last];
}

/** Encodes every post once, thread by thread, and builds the rows that the classifier is trained on. */
export async function trainingRows(options: {
  threads: readonly Thread[];
  encoder: Encoder;
  features: PrefixFeatureOptions;
  maxPosts: number;
}): Promise<TrainingRows> {
  const { threads, encoder, maxPosts } = options;
  const { dimensions } = encoder;
  const width = featureCount(dimensions);
  const lengthsOf = threads.map((thread) => trainingLengths({ posts: thread.posts.length, maxPosts }));
  const rows = lengthsOf.reduce((sum, lengths) => sum + lengths.length, 0);
  const features = new Float32Array(rows * width);
  const threadOfRow = new Int32Array(rows);
  const lengthOfRow = new Int32Array(rows);
  const postsWithDimension = new Float64Array(dimensions);
  let posts = 0;
  let row = 0;
  for (const [index, thread] of threads.entries()) {
    const lengths = lengthsOf[index];
    const texts = thread.posts.slice(0, lengths[lengths.length - 1]).map((post) => post.text);
    const embeddings = await encoder.encode(texts);
    const replySum = new Float64Array(dimensions);
    posts += texts.length;
    for (let post = 0; post < texts.length; post++) {
      const embedding = embeddings.subarray(post * dimensions, (post + 1) * dimensions);
      for (let dimension = 0; dimension < dimensions; dimension++) {
        if (embedding[dimension] !== 0) postsWithDimension[dimension]++;
        if (post > 0) replySum[dimension] += embedding[dimension];
      }
      if (!lengths.includes(post + 1)) continue;
      features.set(embeddings.subarray(0, dimensions), row * width);
      features.set(replySum, row * width + dimensions);
      features[row * width + 2 * dimensions] = Math.log(post + 1);
      features[row * width + 2 * dimensions + 1] = 1;
      lengthOfRow[row] = post + 1;
      threadOfRow[row++] = index;
    }
  }
  const dimensionWeights = options.features.inverseDocumentFrequency
    ? Float32Array.from(postsWithDimension, (count) => inverseDocumentFrequency(posts, count))
    : new Float32Array(dimensions).fill(1);
  for (let start = 0; start < features.length; start += width) {
    const isAlone = features[start + 2 * dimensions] === 0;
    weighAndScale({
      part: features.subarray(start, start + dimensions),
      dimensionWeights,
      length: isAlone ? options.features.loneClaimWeight : 1,
    });
    weighAndScale({
      part: features.subarray(start + dimensions, start + 2 * dimensions),
      dimensionWeights,
      length: options.features.replyWeight,
    });
    features[start + 2 * dimensions] *= options.features.postCountWeight;
  }
  return { features, threadOfRow, lengthOfRow, dimensionWeights };
}

function weighAndScale(options: { part: Float32Array; dimensionWeights: Float32Array; length: number }): void {
  const { part, dimensionWeights } = options;
  let squares = 0;
  for (let index = 0; index < part.length; index++) {
    part[index] *= dimensionWeights[index];
    squares += part[index] ** 2;
  }
  if (squares === 0) return;
  const scale = options.length / Math.sqrt(squares);
  for (let index = 0; index < part.length; index++) part[index] *= scale;
}
