import { z } from 'zod';
import { InputError } from '../errors.ts';
import { loadPretrained } from './load-pretrained.ts';
import { readModelConfig } from './locate-model.ts';
import type { TransformersEncoderOptions } from './transformers-encoder-options.ts';

/** What the encoder needs from a pretrained model, in plain arrays. */
export interface LoadedTransformer {
  readonly libraryVersion: string;
  /** SHA-256 of every file that was used, by name. */
  readonly fileHashes: Readonly<Record<string, string>>;
  /** Token ids of a text, special tokens included, of any length. */
  tokenize(text: string): readonly number[];
  isSpecial(token: number): boolean;
  /**
   * Runs the model on a batch of tokenized texts, padded to the longest. `hidden` is `[batch, length, dimensions]`,
   * `mask` `[batch, length]` with 1 at tokens and 0 at padding.
   */
  run(
    batch: readonly (readonly number[])[],
  ): Promise<{ hidden: Float32Array; mask: Uint8Array; length: number; dimensions: number }>;
}

const outputSchema = z.object({
  dims: z.tuple([z.int(), z.int(), z.int()]),
  data: z.instanceof(Float32Array),
});

/**
 * Loads a model that gives every token a vector.
 * @throws InputError and ProviderError as `loadPretrained` does; InputError where the model reads fewer tokens
 */
export async function loadTransformer(options: TransformersEncoderOptions): Promise<LoadedTransformer> {
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
    tokenize: (text) => tokenizer.encode(text),
    isSpecial: (token) => special.has(token),
    async run(batch) {
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
