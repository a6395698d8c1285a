import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import { floatsFromBase64 } from '../../../src/base64-floats.ts';
import { sha256 } from '../../../src/content-hash.ts';
import type { Prefix } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { readJsonFile } from '../../../src/json-file.ts';
import { softmax } from '../../../src/softmax.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import type { Detector, Judgement } from '../../detector.ts';
import { featureCount, prefixFeatureOptionsSchema } from './prefix-features.ts';
import { PrefixScorer } from './prefix-scorer.ts';

const WEIGHTIEST_POSTS = 3;

/**
 * A linear classifier of encoded prefixes, trained on this machine: the detector that needs neither network nor key.
 */
export class LocalDetector implements Detector {
  readonly name = 'local';
  readonly version = '1';
  readonly options: Readonly<Record<string, unknown>>;
  readonly labels: readonly string[];
  readonly model: FittedModel;
  private readonly scorer: PrefixScorer;

  constructor(settings: { model: FittedModel; encoder: Encoder }) {
    const { model, encoder } = settings;
    if (!isDeepStrictEqual(plain(model.encoder), plain(encoder.identity)))
      throw new InputError(
        `the local detector was trained with the encoder ${JSON.stringify(model.encoder)}, but was given ${JSON.stringify(encoder.identity)}; use the same one or train again`,
      );
    this.model = model;
    this.labels = model.labels;
    this.options = { task: model.task, encoder: model.encoder, modelSha256: fittedModelHash(model) };
    this.scorer = new PrefixScorer({
      encoder,
      features: model.features,
      dimensionWeights: floatsFromBase64(model.dimensionWeights),
      weights: floatsFromBase64(model.weights),
      classCount: model.labels.length,
    });
  }

  /**
   * @param settings.encoder needed only if the training's encoder cannot be created from its identity alone
   * @throws InputError where the file is not a trained detector, or belongs to another encoder
   */
  static async load(settings: { path: string; encoder?: Encoder | undefined }): Promise<LocalDetector> {
    const model = loadFittedModel(settings.path);
    return new LocalDetector({ model, encoder: settings.encoder ?? (await encoderOf(model, settings.path)) });
  }

  save(path: string): void {
    saveFittedModel({ model: this.model, path });
  }

  async judge(prefix: Prefix): Promise<Judgement> {
    const { logits, contributions } = await this.scorer.score(prefix);
    const probabilities = softmax(logits.map((logit) => logit / this.model.temperature));
    const predicted = probabilities.indexOf(Math.max(...probabilities));
    const weightiest = weightiestPosts({ contributions, classCount: logits.length, predicted });
    return {
      label: this.labels[predicted],
      probabilities: Object.fromEntries(this.labels.map((label, index) => [label, probabilities[index]])),
      explanation: `p(${this.labels[predicted]}) = ${probabilities[predicted].toFixed(2)}; weightiest posts: ${weightiest
        .map(({ post, pull }) => `${post + 1} (${pull < 0 ? '−' : '+'}${Math.abs(pull).toFixed(2)})`)
        .join(', ')}`,
      transcript: [],
      usage: { requests: 0, inputTokens: 0, outputTokens: 0 },
    };
  }
}

async function encoderOf(model: FittedModel, path: string): Promise<Encoder> {
  const { version: _, ...config } = model.encoder;
  const parsed = encoderSchema.safeParse(config);
  if (!parsed.success)
    throw new InputError(
      `${path} was trained with the encoder ${JSON.stringify(model.encoder)}, which cannot be created from that alone; pass the encoder`,
    );
  return createEncoder(parsed.data);
}

/** How far each post moves the predicted label's logit away from the mean of all labels, largest first. */
function weightiestPosts(options: { contributions: Float64Array; classCount: number; predicted: number }) {
  const { contributions, classCount, predicted } = options;
  const posts = Array.from({ length: contributions.length / classCount }, (_, post) => {
    const own = contributions.subarray(post * classCount, (post + 1) * classCount);
    return { post, pull: own[predicted] - own.reduce((sum, value) => sum + value, 0) / classCount };
  });
  return posts.sort((left, right) => Math.abs(right.pull) - Math.abs(left.pull)).slice(0, WEIGHTIEST_POSTS);
}

/** A value as it comes back from JSON, so that identities from a file and from memory can be compared. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const floatsSchema = z.string().describe('32-bit floats, little-endian, base64');

/** A trained local detector, in memory and as the JSON file that it is saved in. */
export const fittedModelSchema = z.strictObject({
  format: z.literal('earshot-local-detector'),
  formatVersion: z.literal(1),
  task: z.string(),
  labels: z.array(z.string()).min(2),
  encoder: z.record(z.string(), z.unknown()).describe('identity of the encoder the weights belong to'),
  dimensions: z.int().positive(),
  features: prefixFeatureOptionsSchema,
  dimensionWeights: floatsSchema,
  weights: floatsSchema.describe('[classes − 1, features]; class 0 is the reference'),
  temperature: z.number().positive(),
  training: z
    .strictObject({
      seed: z.int(),
      threads: z.record(z.string(), z.int()).describe('training threads of each label'),
      threadIdsSha256: z.string(),
      rows: z.int(),
      l2: z.number(),
      heldOutLogLoss: z.number().describe('nats, of cross-validation after calibration'),
      heldOutAccuracy: z.number(),
    })
    .describe('how the model was trained'),
});

export type FittedModel = z.infer<typeof fittedModelSchema>;

/** Identifies exactly these weights; part of the key of every annotation made with them. */
function fittedModelHash(model: FittedModel): string {
  return sha256(model);
}

function saveFittedModel(options: { model: FittedModel; path: string }): void {
  writeFileAtomically(options.path, `${JSON.stringify(options.model, null, 1)}\n`);
}

function loadFittedModel(path: string): FittedModel {
  const model = readJsonFile(path, fittedModelSchema);
  const { labels, dimensions } = model;
  const expected = { dimensionWeights: dimensions, weights: (labels.length - 1) * featureCount(dimensions) };
  for (const [name, length] of Object.entries(expected) as ['dimensionWeights' | 'weights', number][]) {
    const found = floatsFromBase64(model[name]).length;
    if (found !== length)
      throw new InputError(`${path}: ${name} holds ${found} numbers instead of ${length}; the file is damaged`);
  }
  return model;
}
