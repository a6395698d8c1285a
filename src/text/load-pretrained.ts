import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tensor } from '@xenova/transformers';
import { InputError, ProviderError } from '../errors.ts';
import { bertweetTokenizerConfig, bertweetTokenizerJson } from './bertweet.ts';
import { BERTWEET_TOKENIZER, hashModelFiles, locateModel, type ModelLocation } from './locate-model.ts';
import type { TransformersEncoderOptions } from './transformers-encoder-options.ts';

/** The model, its source and its device. */
export type PretrainedOptions = Pick<
  TransformersEncoderOptions,
  'model' | 'revision' | 'hub' | 'cacheDirectory' | 'localFilesOnly' | 'dtype' | 'device'
>;

type Outputs = Record<string, Tensor>;

/**
 * Loads a model and its tokenizer from a folder or the hub.
 * @param kind the library's name for models of this kind
 * @param advice the end of every message
 * @throws InputError for a model that is missing or not of this kind, or a device that cannot run it; ProviderError for
 *   a failed download
 */
export async function loadPretrained(
  options: PretrainedOptions,
  { kind, advice }: { kind: 'AutoModel' | 'AutoModelForTokenClassification'; advice: string },
) {
  const location = await locateModel(options);
  // Loaded on demand, because the library and its native runtime take a second.
  const library = await import('@xenova/transformers');
  const { AutoTokenizer, PreTrainedTokenizer, Tensor: LibraryTensor, env } = library;
  env.remoteHost = `${options.hub.replace(/\/+$/, '')}/`;
  env.fetch = answerProbe;
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
    model: await library[kind].from_pretrained(location.name, {
      ...source,
      subfolder: location.graphFolder,
      dtype: options.dtype,
      device: options.device,
      // Errors only: the runtime's remarks about its graph optimiser help no one here.
      session_options: { logSeverityLevel: 3 },
    }),
  }))().catch((error: unknown) => {
    throw cannotLoad(error, { location, options, advice });
  });
  return {
    tokenizer,
    config: model.config,
    files: location.files,
    libraryVersion: env.version,
    /** SHA-256 of every used file, by name. */
    fileHashes: await hashModelFiles(location, options.dtype),
    /** Runs the model on token ids, [batch, length] like the mask, and frees its outputs after they are read. */
    async run<T>(input: { ids: BigInt64Array; mask: BigInt64Array; shape: number[] }, read: (outputs: Outputs) => T) {
      const inputs = {
        input_ids: new LibraryTensor('int64', input.ids, input.shape),
        attention_mask: new LibraryTensor('int64', input.mask, input.shape),
      };
      const outputs: Outputs = await model(inputs);
      try {
        return read(outputs);
      } finally {
        for (const tensor of [...Object.values(inputs), ...Object.values(outputs)]) tensor.dispose();
      }
    },
  };
}

/**
 * transformers 4.3 asks the hub whether a model has a tokenizer, without the given revision, cache or offline setting.
 * The answer here is yes; a missing tokenizer is reported when its file is loaded.
 */
async function answerProbe(url: string | URL, request?: RequestInit): Promise<Response> {
  const isProbe = new Headers(request?.headers).get('range') === 'bytes=0-0';
  return isProbe && String(url).endsWith('/tokenizer_config.json') ? new Response('{}') : fetch(url, request);
}

async function readBertweetTokenizer(folder: string): Promise<object> {
  const [vocabulary, merges] = await Promise.all(
    BERTWEET_TOKENIZER.map((name) => readFile(join(folder, name), 'utf8')),
  );
  return bertweetTokenizerJson({ vocabulary, merges });
}

function cannotLoad(
  error: unknown,
  { location, options, advice }: { location: ModelLocation; options: PretrainedOptions; advice: string },
): Error {
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  const reason = `${message}${cause}`.replace(/\.$/, '');
  if (options.device !== 'cpu' && /device|provider|cuda/i.test(reason))
    return new InputError(`device ${options.device} cannot run ${options.model} here: ${reason}; set device to cpu`);
  if (location.kind === 'folder')
    return new InputError(`cannot load the model in ${location.files}: ${reason}; ${advice}`);
  if (options.localFilesOnly)
    return new InputError(
      `model ${options.model} is not complete in ${location.files} and localFilesOnly forbids to download it: ${reason}; ` +
        `run once with localFilesOnly: false, or ${advice}`,
    );
  return new ProviderError(
    `cannot load model ${options.model} (revision ${options.revision}) from ${options.hub}: ${reason}; check the id and ` +
      `the network, or ${advice}. If a download was cut short, delete ${location.files}`,
  );
}
