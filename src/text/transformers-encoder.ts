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

/** Sentence vectors of a pretrained transformer, pooled over the tokens of each text. @throws as `loadTransformer` */
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
    return poolTokens(await model.run(batch), pooling);
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

/** Pools the token vectors of a batch to one vector per text, `[batch, dimensions]`. */
function poolTokens(
  { hidden, mask, length, dimensions }: Awaited<ReturnType<Awaited<ReturnType<typeof loadTransformer>>['run']>>,
  pooling: TransformersEncoderOptions['pooling'],
): Float32Array {
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

const outputSchema = z.object({
  dims: z.tuple([z.int(), z.int(), z.int()]),
  data: z.instanceof(Float32Array),
});

/**
 * Loads a model that gives every token a vector.
 * @throws InputError and ProviderError as `loadPretrained`; InputError if the model reads fewer tokens
 */
async function loadTransformer(options: TransformersEncoderOptions) {
  const advice = 'give the path of a local folder as model';
  const loaded = await loadPretrained(options, { kind: 'AutoModel', advice });
  const { tokenizer, libraryVersion, fileHashes } = loaded;
  const config = await readModelConfig(loaded.files);
  if (config.maxTokens !== null && options.maxTokens > config.maxTokens)
    throw new InputError(
      `maxTokens is ${options.maxTokens}, but ${options.model} reads at most ${config.maxTokens} tokens; lower maxTokens`,
    );
  const special = new Set(tokenizer.all_special_ids);
  // A tokenizer without a padding token may pad with anything, because the mask hides it.
  const padding = BigInt(tokenizer.pad_token_id ?? 0);

  return {
    libraryVersion,
    fileHashes,
    /** Token ids of a text of any length, including special tokens. */
    tokenize: (text: string): readonly number[] => tokenizer.encode(text),
    isSpecial: (token: number) => special.has(token),
    /**
     * Runs the model on a batch of tokenized texts, padded to the longest. `hidden` is `[batch, length, dimensions]`,
     * `mask` `[batch, length]` with 1 at tokens and 0 at padding.
     */
    async run(batch: readonly (readonly number[])[]) {
      const length = Math.max(1, ...batch.map((tokens) => tokens.length));
      const ids = new BigInt64Array(batch.length * length).fill(padding);
      const mask = new Uint8Array(batch.length * length);
      for (const [text, tokens] of batch.entries())
        for (const [position, token] of tokens.entries()) {
          ids[text * length + position] = BigInt(token);
          mask[text * length + position] = 1;
        }
      const input = { ids, mask: BigInt64Array.from(mask, BigInt), shape: [batch.length, length] };
      return loaded.run(input, (outputs) => {
        const output = outputSchema.safeParse(outputs.last_hidden_state);
        if (!output.success)
          throw new InputError(
            `${options.model} returns ${describeOutputs(outputs)}, not last_hidden_state as float32 [batch, tokens, ` +
              'dimensions]; export the model for the task "feature-extraction"',
          );
        const { data, dims } = output.data;
        return { hidden: Float32Array.from(data), mask, length, dimensions: dims[2] };
      });
    },
  };
}

function describeOutputs(outputs: Record<string, { type: string; dims: number[] }>): string {
  return Object.entries(outputs)
    .map(([name, { type, dims }]) => `${name} as ${type} [${dims.join(', ')}]`)
    .join(' and ');
}
