import { z } from 'zod';
import { InputError } from '../errors.ts';
import { normalizeTweet } from './bertweet.ts';
import { encodeByLength } from './encode-by-length.ts';
import type { Encoder } from './encoder.ts';
import { loadPretrained } from './load-pretrained.ts';
import { readModelConfig } from './locate-model.ts';
import { type TransformersEncoderOptions, transformersEncoderOptionsSchema } from './transformers-encoder-options.ts';

/** Raised with every change to this file or the tweet normalisation that changes a vector. */
const VERSION = 1;

const outputSchema = z.object({
  dims: z.tuple([z.int(), z.int(), z.int()]),
  data: z.instanceof(Float32Array),
});

/**
 * Sentence vectors of a pretrained transformer, pooled over the tokens of each text.
 * @throws InputError and ProviderError as `loadPretrained`; InputError if the model reads fewer tokens, or gives its
 *   tokens no vectors
 */
export async function createTransformersEncoder(
  options: z.input<typeof transformersEncoderOptionsSchema>,
): Promise<Encoder> {
  const settings = transformersEncoderOptionsSchema.parse(options);
  const { batchSize, maxTokens, pooling, normalization, dtype, device } = settings;
  const advice = 'give the path of a local folder as model';
  const model = await loadPretrained(settings, { kind: 'AutoModel', advice });
  const { tokenizer } = model;
  const config = await readModelConfig(model.files);
  if (config.maxTokens !== null && maxTokens > config.maxTokens)
    throw new InputError(
      `maxTokens is ${maxTokens}, but ${settings.model} reads at most ${config.maxTokens} tokens; lower maxTokens`,
    );
  const special = new Set(tokenizer.all_special_ids);
  // A tokenizer without a padding token may pad with anything, because the mask hides it.
  const padding = BigInt(tokenizer.pad_token_id ?? 0);

  function tokenize(text: string): readonly number[] {
    const tokens: readonly number[] = tokenizer.encode(normalization === 'tweet' ? normalizeTweet(text) : text);
    if (tokens.length <= maxTokens) return tokens;
    const last = tokens[tokens.length - 1];
    return special.has(last) ? [...tokens.slice(0, maxTokens - 1), last] : tokens.slice(0, maxTokens);
  }

  /** Runs the model on tokenized texts, padded to the longest. */
  async function encodeBatch(batch: readonly (readonly number[])[]): Promise<Float32Array> {
    const length = Math.max(1, ...batch.map((tokens) => tokens.length));
    const ids = new BigInt64Array(batch.length * length).fill(padding);
    const mask = new Uint8Array(batch.length * length);
    for (const [text, tokens] of batch.entries())
      for (const [position, token] of tokens.entries()) {
        ids[text * length + position] = BigInt(token);
        mask[text * length + position] = 1;
      }
    const input = { ids, mask: BigInt64Array.from(mask, BigInt), shape: [batch.length, length] };
    return model.run(input, (outputs) => {
      const output = outputSchema.safeParse(outputs.last_hidden_state);
      if (!output.success)
        throw new InputError(
          `${settings.model} returns ${describeOutputs(outputs)}, not last_hidden_state as float32 [batch, tokens, ` +
            'dimensions]; export the model for the task "feature-extraction"',
        );
      const { data, dims } = output.data;
      return poolTokens({ hidden: data, mask, length, dimensions: dims[2] }, pooling);
    });
  }

  // Measured on the model, because configurations have different names for the length of its vectors.
  const dimensions = (await encodeBatch([tokenize('')])).length;

  return {
    dimensions,
    // Hashes of the files, not path or id: a folder that moves keeps its embeddings, a branch that moves loses them.
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
    encode: (texts) => encodeByLength(texts.map(tokenize), { dimensions, batchSize, encodeBatch }),
  };
}

/**
 * Pools the token vectors of a batch to one vector per text, `[batch, dimensions]`.
 * @param of.hidden `[batch, length, dimensions]`
 * @param of.mask `[batch, length]`, 1 at tokens and 0 at padding
 */
function poolTokens(
  of: { hidden: Float32Array; mask: Uint8Array; length: number; dimensions: number },
  pooling: TransformersEncoderOptions['pooling'],
): Float32Array {
  const { hidden, mask, length, dimensions } = of;
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

function describeOutputs(outputs: Record<string, { type: string; dims: number[] }>): string {
  return Object.entries(outputs)
    .map(([name, { type, dims }]) => `${name} as ${type} [${dims.join(', ')}]`)
    .join(' and ');
}
