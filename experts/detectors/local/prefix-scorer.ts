import type { Prefix } from '../../../src/data/thread.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { featureCount, type PrefixFeatureOptions } from './prefix-features.ts';

/** Threads whose sums are kept: enough for those judged at the same time, but bounded. */
const MAX_THREADS = 32;

export interface PrefixScore {
  /** One for each class; 0 for class 0, the reference. */
  readonly logits: Float64Array;
  /** Row-major `[posts, classes]`: each post's contribution to the logits. */
  readonly contributions: Float64Array;
}

interface ThreadSums {
  /** Texts of all posts asked for; those beyond `products` are still being encoded. */
  readonly texts: string[];
  /** For each post, the products of its weighted embedding with the weights of each class. */
  readonly products: Float64Array[];
  /** For each post: the length of the claim's weighted embedding, then of the sum of the replies so far. */
  readonly lengths: number[];
  readonly replySum: Float64Array;
  extending: Promise<void>;
}

/**
 * Scores growing prefixes with the linear model. Each post is encoded and multiplied once, however many prefixes
 * contain it. Sums run over the posts in order, so a score depends on the prefix alone and not on earlier calls.
 */
export class PrefixScorer {
  private readonly encoder: Encoder;
  private readonly features: PrefixFeatureOptions;
  private readonly dimensionWeights: Float32Array;
  /** `[classes − 1, features]`. */
  private readonly weights: Float32Array;
  private readonly classCount: number;
  private readonly threads = new Map<string, ThreadSums>();

  constructor(options: {
    encoder: Encoder;
    features: PrefixFeatureOptions;
    dimensionWeights: Float32Array;
    weights: Float32Array;
    classCount: number;
  }) {
    this.encoder = options.encoder;
    this.features = options.features;
    this.dimensionWeights = options.dimensionWeights;
    this.weights = options.weights;
    this.classCount = options.classCount;
  }

  async score(prefix: Prefix): Promise<PrefixScore> {
    const sums = this.sumsOf(prefix);
    // Calls for prefixes of one thread may overlap. Each waits for the one before it, then adds what is missing.
    sums.extending = sums.extending.catch(() => undefined).then(() => this.extend(sums));
    await sums.extending;
    return this.scoreFromSums({ sums, length: prefix.posts.length });
  }

  private sumsOf(prefix: Prefix): ThreadSums {
    const known = this.threads.get(prefix.threadId);
    this.threads.delete(prefix.threadId);
    const fits = known?.texts.every((text, index) => index >= prefix.posts.length || prefix.posts[index].text === text);
    const sums =
      known !== undefined && fits
        ? known
        : {
            texts: [],
            products: [],
            lengths: [],
            replySum: new Float64Array(this.encoder.dimensions),
            extending: Promise.resolve(),
          };
    for (const post of prefix.posts.slice(sums.texts.length)) sums.texts.push(post.text);
    this.threads.set(prefix.threadId, sums);
    // The first key belongs to the thread that was used longest ago.
    for (const oldest of this.threads.keys()) {
      if (this.threads.size <= MAX_THREADS) break;
      this.threads.delete(oldest);
    }
    return sums;
  }

  private async extend(sums: ThreadSums): Promise<void> {
    const texts = sums.texts.slice(sums.products.length);
    if (texts.length === 0) return;
    const { dimensions } = this.encoder;
    const embeddings = await this.encoder.encode(texts);
    for (let index = 0; index < texts.length; index++)
      this.addPost({ sums, embedding: embeddings.subarray(index * dimensions, (index + 1) * dimensions) });
  }

  private addPost(options: { sums: ThreadSums; embedding: Float32Array }): void {
    const { sums, embedding } = options;
    const { dimensions } = this.encoder;
    const isClaim = sums.products.length === 0;
    const width = featureCount(dimensions);
    const products = new Float64Array(this.classCount);
    let squares = 0;
    for (let dimension = 0; dimension < dimensions; dimension++) {
      const value = embedding[dimension] * this.dimensionWeights[dimension];
      if (!isClaim) sums.replySum[dimension] += value;
      squares += (isClaim ? value : sums.replySum[dimension]) ** 2;
      if (value === 0) continue;
      const feature = isClaim ? dimension : dimensions + dimension;
      for (let label = 1; label < this.classCount; label++)
        products[label] += value * this.weights[(label - 1) * width + feature];
    }
    sums.products.push(products);
    sums.lengths.push(Math.sqrt(squares));
  }

  private scoreFromSums(options: { sums: ThreadSums; length: number }): PrefixScore {
    const { sums, length } = options;
    const { classCount } = this;
    const width = featureCount(this.encoder.dimensions);
    const logits = new Float64Array(classCount);
    const contributions = new Float64Array(length * classCount);
    const claimScale = (length === 1 ? this.features.loneClaimWeight : 1) * inverse(sums.lengths[0]);
    const replyScale = length > 1 ? this.features.replyWeight * inverse(sums.lengths[length - 1]) : 0;
    for (let label = 1; label < classCount; label++) {
      const constant = this.weights[label * width - 1];
      const countWeight = this.weights[label * width - 2] * this.features.postCountWeight;
      logits[label] = constant + countWeight * Math.log(length);
      for (let post = 0; post < length; post++) {
        const contribution = sums.products[post][label] * (post === 0 ? claimScale : replyScale);
        contributions[post * classCount + label] = contribution;
        logits[label] += contribution;
      }
    }
    return { logits, contributions };
  }
}

function inverse(length: number): number {
  return length === 0 ? 0 : 1 / length;
}
