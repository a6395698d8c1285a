import type { z } from 'zod';
import type { Encoder } from './encoder.ts';
import { loadTransformer } from './load-transformer.ts';
import { normalizeTweet } from './normalize-tweet.ts';
import { transformersEncoderOptionsSchema } from './transformers-encoder-options.ts';

/** Raise this with every change to this file or the tweet normalisation that changes a vector. */
const VERSION = 1;

/**
 * Sentence vectors of a pretrained transformer, pooled over the tokens of each text.
 * @throws as `loadTransformer` does
 */
export async function createTransformersEncoder(
  options: z.input<typeof transformersEncoderOptionsSchema>,
): Promise<Encoder> {
  const settings = transformersEncoderOptionsSchema.parse(options);
  const { batchSize, maxTokens, pooling, normalization, dtype, device } = settings;
  const model = await loadTransformer(settings);

  function tokenize(text: string): readonly number[] {
    const tokens = model.tokenize(normalization === 'tweet' ? normalizeTweet(text) : text);
    if (tokens.length <= maxTokens) return tokens;
    const last = tokens[tokens.length - 1];
    return model.isSpecial(last) ? [...tokens.slice(0, maxTokens - 1), last] : tokens.slice(0, maxTokens);
  }

  async function encodeBatch(batch: readonly (readonly number[])[]): Promise<Float32Array> {
    const { hidden, mask, length, dimensions } = await model.run(batch);
    return poolTokens({ hidden, mask, length, dimensions, pooling });
  }

  // Measured on the model, because configurations have different names for the length of its vectors.
  const dimensions = (await encodeBatch([tokenize('')])).length;

  return {
    dimensions,
    // Not the path or id but the files: a folder that moves keeps its embeddings, a branch that moves loses them.
    identity: {
      name: 'transformers',
      version: VERSION,
      library: model.libraryVersion,
      files: model.fileHashes,
      dtype,
      device,
      pooling,
      maxTokens,
      normalization,
    },
    async encode(texts) {
      const tokens = texts.map(tokenize);
      // Texts of similar length share a batch, for less padding. The longest come first: if memory is short, it is at
      // once.
      const order = Array.from(tokens.keys()).sort((a, b) => tokens[b].length - tokens[a].length || a - b);
      const vectors = new Float32Array(texts.length * dimensions);
      for (let start = 0; start < order.length; start += batchSize) {
        const batch = order.slice(start, start + batchSize);
        const pooled = await encodeBatch(batch.map((index) => tokens[index]));
        for (const [position, index] of batch.entries())
          vectors.set(pooled.subarray(position * dimensions, (position + 1) * dimensions), index * dimensions);
      }
      return vectors;
    },
  };
}

/**
 * One vector for each text from those of its tokens. `hidden` is `[batch, length, dimensions]`, `mask` `[batch,
 * length]` with 1 at tokens and 0 at padding; returns `[batch, dimensions]`.
 */
function poolTokens(options: {
  hidden: Float32Array;
  mask: Uint8Array;
  length: number;
  dimensions: number;
  pooling: 'cls' | 'mean';
}): Float32Array {
  const { hidden, mask, length, dimensions, pooling } = options;
  const batch = mask.length / length;
  const pooled = new Float32Array(batch * dimensions);
  const sum = new Float64Array(dimensions);
  for (let text = 0; text < batch; text++) {
    const start = text * length * dimensions;
    if (pooling === 'cls') {
      pooled.set(hidden.subarray(start, start + dimensions), text * dimensions);
      continue;
    }
    sum.fill(0);
    let tokens = 0;
    for (let token = 0; token < length; token++) {
      if (mask[text * length + token] === 0) continue;
      tokens++;
      const offset = start + token * dimensions;
      for (let element = 0; element < dimensions; element++) sum[element] += hidden[offset + element];
    }
    for (let element = 0; element < dimensions; element++) pooled[text * dimensions + element] = sum[element] / tokens;
  }
  return pooled;
}
