import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { hashOfFile } from '../content-hash.ts';
import { InputError } from '../errors.ts';
import type { TransformersEncoderOptions } from './transformers-encoder-options.ts';

/** The location of a model's files, now or after the download. */
export interface ModelLocation {
  readonly kind: 'folder' | 'hub';
  /** The library's name for the model: the absolute path of a folder, or an id on the hub. */
  readonly name: string;
  /** The folder of the files; for a model on the hub, after it is loaded. */
  readonly files: string;
  /** The folder of the graph within `files`. */
  readonly graphFolder: string;
  readonly tokenizerFiles: readonly string[];
  readonly cacheDirectory: string;
}

const TOKENIZER = ['tokenizer.json', 'tokenizer_config.json'];
/** BERTweet's own files, which are preferred: see `bertweetTokenizerJson`. */
export const BERTWEET_TOKENIZER = ['vocab.txt', 'bpe.codes'];

/**
 * Decides whether a model is a folder or on the hub. An existing folder is preferred to a hub id of the same spelling.
 * @throws InputError for a path that does not exist, or a folder that lacks files
 */
export async function locateModel(
  options: Pick<TransformersEncoderOptions, 'model' | 'revision' | 'cacheDirectory' | 'dtype'>,
): Promise<ModelLocation> {
  const { model, revision } = options;
  const cacheDirectory = resolve(options.cacheDirectory ?? join(homedir(), '.cache', 'earshot', 'models'));
  const folder = resolve(model);
  if (await isFolder(folder))
    return { kind: 'folder', name: folder, cacheDirectory, ...(await inspect(folder, options)) };
  if (/^[./~\\]|^[A-Za-z]:[\\/]/.test(model))
    throw new InputError(
      `there is no model folder ${folder}; give an existing folder (docs/how-to/choose-an-encoder.md says where to get one) or the id of a model on the hub`,
    );
  return {
    kind: 'hub',
    name: model,
    // The library's place for downloads.
    files: revision === 'main' ? join(cacheDirectory, model) : join(cacheDirectory, model, revision),
    graphFolder: 'onnx',
    tokenizerFiles: TOKENIZER,
    cacheDirectory,
  };
}

async function inspect(folder: string, { dtype }: Pick<TransformersEncoderOptions, 'dtype'>) {
  const has = (name: string) =>
    stat(join(folder, name)).then(
      () => true,
      () => false,
    );
  const hasAll = async (names: readonly string[]) => (await Promise.all(names.map(has))).every(Boolean);
  const modelFile = modelFileName(dtype);
  // Exporters write the graph beside the configuration; on the hub it is in a folder.
  const graphFolder = (await has(modelFile)) ? '' : 'onnx';
  const tokenizerFiles = (await hasAll(BERTWEET_TOKENIZER)) ? BERTWEET_TOKENIZER : TOKENIZER;
  const expected = ['config.json', ...tokenizerFiles, join(graphFolder, modelFile)];
  const present = await Promise.all(expected.map(has));
  const missing = expected.filter((_, index) => !present[index]);
  if (missing.length > 0)
    throw new InputError(
      `the model folder ${folder} lacks ${missing.join(', ')} (for dtype ${dtype}); ` +
        'export the model with its tokenizer to ONNX, for example with `optimum-cli export onnx --task feature-extraction`',
    );
  return { files: folder, graphFolder, tokenizerFiles };
}

/** SHA-256 of all files that can change a vector, by name, including weights beside the graph (`model.onnx_data`). */
export async function hashModelFiles(
  location: ModelLocation,
  dtype: TransformersEncoderOptions['dtype'],
): Promise<Record<string, string>> {
  const modelFile = modelFileName(dtype);
  const graph = (await readdir(join(location.files, location.graphFolder)))
    .filter((name) => name === modelFile || name.startsWith(`${modelFile}_data`) || name === `${modelFile}.data`)
    .sort();
  const used = ['config.json', ...location.tokenizerFiles, ...graph.map((name) => join(location.graphFolder, name))];
  const hashes = used.map(async (path) => [basename(path), await hashOfFile(join(location.files, path))]);
  return Object.fromEntries(await Promise.all(hashes));
}

const configSchema = z.looseObject({
  model_type: z.string().optional(),
  max_position_embeddings: z.int().optional().catch(undefined),
});

/** Models that start counting positions after the padding index, so that two positions are lost. */
const OFFSET_POSITIONS = new Set(['roberta', 'xlm-roberta', 'camembert', 'mpnet']);

/** The number of tokens that the model can read; null if its config.json does not say. */
export async function readModelConfig(folder: string): Promise<{ maxTokens: number | null }> {
  const config = configSchema.parse(JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')));
  if (config.max_position_embeddings === undefined) return { maxTokens: null };
  const offset = OFFSET_POSITIONS.has(config.model_type ?? '') ? 2 : 0;
  return { maxTokens: config.max_position_embeddings - offset };
}

function modelFileName(dtype: TransformersEncoderOptions['dtype']): string {
  if (dtype === 'fp32') return 'model.onnx';
  return dtype === 'q8' ? 'model_quantized.onnx' : `model_${dtype}.onnx`;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}
