import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError, ProviderError } from '../errors.ts';
import { bertweetTokenizerConfig, bertweetTokenizerJson } from './bertweet-tokenizer.ts';
import {
  BERTWEET_TOKENIZER,
  hashModelFiles,
  locateModel,
  type ModelLocation,
  readModelConfig,
} from './locate-model.ts';
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
 * Loads a model and its tokenizer from a folder or the hub.
 * @throws InputError for a model that is not there or not of this kind, or a device that cannot run it; ProviderError
 *   for a failed download
 */
export async function loadTransformer(options: TransformersEncoderOptions): Promise<LoadedTransformer> {
  const location = await locateModel(options);
  // Imported here because the library and its native runtime take a second to load, which other encoders need not wait.
  const { AutoModel, AutoTokenizer, PreTrainedTokenizer, Tensor, env } = await import('@xenova/transformers');
  env.remoteHost = `${options.hub.replace(/\/+$/, '')}/`;
  const source = {
    revision: options.revision,
    cache_dir: location.cacheDirectory,
    local_files_only: options.localFilesOnly || location.kind === 'folder',
  };
  const { tokenizer, model } = await (async () => ({
    tokenizer:
      location.tokenizerFiles === BERTWEET_TOKENIZER
        ? new PreTrainedTokenizer(await readBertweetTokenizer(location.files), bertweetTokenizerConfig)
        : await AutoTokenizer.from_pretrained(location.name, source),
    model: await AutoModel.from_pretrained(location.name, {
      ...source,
      subfolder: location.graphFolder,
      dtype: options.dtype,
      device: options.device,
      // Errors only: the runtime's remarks about its graph optimiser help nobody here.
      session_options: { logSeverityLevel: 3 },
    }),
  }))().catch((error: unknown) => {
    throw cannotLoad({ error, location, options });
  });
  const config = await readModelConfig(location.files);
  if (config.maxTokens !== null && options.maxTokens > config.maxTokens)
    throw new InputError(
      `maxTokens is ${options.maxTokens}, but ${options.model} reads at most ${config.maxTokens} tokens; lower maxTokens`,
    );
  const special = new Set(tokenizer.all_special_ids);
  // A tokenizer without a padding token may pad with anything, because the mask hides it.
  const padding = BigInt(tokenizer.pad_token_id ?? 0);

  return {
    libraryVersion: env.version,
    fileHashes: await hashModelFiles(location, options.dtype),
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
      const shape = [batch.length, length];
      const inputs = {
        input_ids: new Tensor('int64', ids, shape),
        attention_mask: new Tensor('int64', BigInt64Array.from(mask, BigInt), shape),
      };
      const outputs: Record<string, InstanceType<typeof Tensor>> = await model(inputs);
      try {
        const output = outputSchema.safeParse(outputs.last_hidden_state);
        if (!output.success)
          throw new InputError(
            `${options.model} returns ${describeOutputs(outputs)}, not last_hidden_state as float32 [batch, tokens, ` +
              'dimensions]; export the model for the task "feature-extraction"',
          );
        const { data, dims } = output.data;
        return { hidden: Float32Array.from(data), mask, length, dimensions: dims[2] };
      } finally {
        for (const tensor of [...Object.values(inputs), ...Object.values(outputs)]) tensor.dispose();
      }
    },
  };
}

async function readBertweetTokenizer(folder: string): Promise<object> {
  const [vocabulary, merges] = await Promise.all(
    BERTWEET_TOKENIZER.map((name) => readFile(join(folder, name), 'utf8')),
  );
  return bertweetTokenizerJson({ vocabulary, merges });
}

function describeOutputs(outputs: Record<string, { type: string; dims: number[] }>): string {
  return Object.entries(outputs)
    .map(([name, { type, dims }]) => `${name} as ${type} [${dims.join(', ')}]`)
    .join(' and ');
}

function cannotLoad(problem: { error: unknown; location: ModelLocation; options: TransformersEncoderOptions }): Error {
  const { error, location, options } = problem;
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  const reason = `${message}${cause}`.replace(/\.$/, '');
  if (options.device !== 'cpu' && /device|provider|cuda/i.test(reason))
    return new InputError(`device ${options.device} cannot run ${options.model} here: ${reason}; set device to cpu`);
  if (location.kind === 'folder') return new InputError(`cannot load the model in ${location.files}: ${reason}`);
  if (options.localFilesOnly)
    return new InputError(
      `model ${options.model} is not complete in ${location.files} and localFilesOnly forbids to download it: ${reason}; ` +
        'run once with localFilesOnly: false, or give the path of a local folder as model',
    );
  return new ProviderError(
    `cannot load model ${options.model} (revision ${options.revision}) from ${options.hub}: ${reason}; check the id and ` +
      `the network, or give the path of a local folder as model. If a download was cut short, delete ${location.files}`,
  );
}
