import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import { floatsFromBase64 } from '../../../src/base64-floats.ts';
import { sha256 } from '../../../src/content-hash.ts';
import { type GrowingPrefix, prefixGrower, type ReadPost } from '../../../src/data/growing-prefix.ts';
import { prefixModelSchema, prefixProbabilities } from '../../../src/data/prefix-model.ts';
import type { Post, Prefix } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { readJsonFile } from '../../../src/json-file.ts';
import { likeliest } from '../../../src/likeliest.ts';
import { recordOf } from '../../../src/record-of.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import type { Detector, Judgement } from '../../detector.ts';
import { heldOutSchema } from './held-out.ts';

const WEIGHTIEST_POSTS = 3;
/** Threads whose sums are cached: those judged at the same time, but a bounded number. */
const MAX_THREADS = 32;

/**
 * TF-IDF and a logistic regression of prefixes, trained on this machine: the detector without network or key. An offset
 * per class makes the likeliest label the best one for macro-F1. Its probability is then calibrated for the length of
 * the prefix: of the predictions with a confidence of 0.9, nine of ten are right.
 */
export class LocalDetector implements Detector {
  readonly name = 'local';
  readonly version = '3';
  readonly options: Readonly<Record<string, unknown>>;
  readonly labels: readonly string[];
  readonly model: FittedModel;
  readonly inputOf?: (prefix: Prefix) => unknown;
  private readonly encoder: Encoder | null;
  private readonly open: () => GrowingPrefix;
  private readonly threads = new Map<string, ReadThread>();

  /** @throws InputError if the encoder is not that of the training, or the model is damaged */
  constructor({ model, encoder }: { model: FittedModel; encoder: Encoder | null }) {
    const identity = encoder?.identity ?? null;
    if (!isDeepStrictEqual(plain(model.encoder), plain(identity)))
      throw new InputError(
        `the local detector was trained with ${encoderInWords(model.encoder)}, but was given ${encoderInWords(identity)}; use the same one or train again`,
      );
    this.model = model;
    this.encoder = encoder;
    this.labels = model.labels;
    if (model.timing !== undefined) this.inputOf = ({ posts }) => posts.map(({ text, time }) => ({ text, time }));
    // The hash makes exactly these weights part of the key of every annotation.
    this.options = { task: model.task, encoder: model.encoder, modelSha256: sha256(model) };
    const { embedding } = model;
    this.open = prefixGrower(
      model,
      embedding && { claim: floatsFromBase64(embedding.claim), replies: floatsFromBase64(embedding.replies) },
    );
  }

  /** Loads a saved detector like `open`. */
  static async load({ path, encoder }: { path: string; encoder?: Encoder | undefined }): Promise<LocalDetector> {
    return LocalDetector.open(readJsonFile(path, fittedModelSchema), { path, encoder });
  }

  /**
   * Opens a detector from parsed JSON.
   * @param from.encoder needed only if the training's encoder cannot be created from its identity alone
   * @throws InputError if the model is damaged, or belongs to another encoder
   */
  static async open(
    model: FittedModel,
    { path, encoder }: { path: string; encoder?: Encoder | undefined },
  ): Promise<LocalDetector> {
    const modelEncoder = model.encoder === null ? null : (encoder ?? (await encoderOf(model, path)));
    try {
      return new LocalDetector({ model, encoder: modelEncoder });
    } catch (problem) {
      if (!(problem instanceof RangeError)) throw problem;
      throw new InputError(`${path} is damaged: ${problem.message}; train the detector again`);
    }
  }

  /** Writes the fields in the order of the schema, so that a cached detector and a trained one give equal bytes. */
  save(path: string): void {
    writeFileAtomically(path, `${JSON.stringify(fittedModelSchema.parse(this.model), null, 1)}\n`);
  }

  /** Each post is read once, however many prefixes contain it. A judgement depends on the prefix alone. */
  async judge(prefix: Prefix): Promise<Judgement> {
    const thread = this.threadOf(prefix);
    // Calls for prefixes of one thread may overlap. Each waits for the previous one, then adds the missing posts.
    thread.extending = thread.extending.catch(() => undefined).then(() => this.extend(thread));
    await thread.extending;
    const { length } = prefix.posts;
    const probabilities = prefixProbabilities({ logits: thread.growing.logits(length), posts: length }, this.model);
    const predicted = likeliest(probabilities);
    const weightiest = weightiestPosts({
      contributions: thread.growing.contributions(length),
      classCount: this.labels.length,
      predicted,
    });
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

  private threadOf({ threadId, posts }: Prefix): ReadThread {
    const cached = this.threads.get(threadId);
    this.threads.delete(threadId);
    const fits = cached?.posts.every((post, index) => index >= posts.length || this.readsAlike(post, posts[index]));
    const thread =
      cached !== undefined && fits ? cached : { posts: [], growing: this.open(), extending: Promise.resolve() };
    for (const { text, time } of posts.slice(thread.posts.length)) thread.posts.push({ text, time });
    this.threads.set(threadId, thread);
    // The first key belongs to the least recently used thread.
    for (const oldest of this.threads.keys()) {
      if (this.threads.size <= MAX_THREADS) break;
      this.threads.delete(oldest);
    }
    return thread;
  }

  private readsAlike(cached: ReadPost, { text, time }: Post): boolean {
    return cached.text === text && (this.model.timing === undefined || cached.time === time);
  }

  private async extend({ posts, growing }: ReadThread): Promise<void> {
    const missing = posts.slice(growing.posts);
    if (missing.length === 0) return;
    const embeddings = await this.encoder?.encode(missing.map(({ text }) => text));
    const dimensions = this.encoder?.dimensions ?? 0;
    for (const [index, post] of missing.entries())
      growing.add(post, embeddings?.subarray(index * dimensions, (index + 1) * dimensions));
  }
}

interface ReadThread {
  /** All posts of the prefixes so far. Posts beyond `growing.posts` are still being encoded. */
  readonly posts: ReadPost[];
  readonly growing: GrowingPrefix;
  extending: Promise<void>;
}

function encoderInWords(identity: unknown): string {
  return identity === null ? 'no encoder' : `the encoder ${JSON.stringify(identity)}`;
}

async function encoderOf(model: FittedModel, path: string): Promise<Encoder> {
  const { version: _, ...config } = model.encoder ?? {};
  const parsed = encoderSchema.safeParse(config);
  if (!parsed.success)
    throw new InputError(
      `${path} was trained with the encoder ${JSON.stringify(model.encoder)}, which cannot be created from that alone; pass the encoder`,
    );
  return createEncoder(parsed.data);
}

/** The posts that move the predicted label's logit farthest from the mean of all labels, largest first. */
function weightiestPosts(options: { contributions: Float64Array; classCount: number; predicted: number }) {
  const { contributions, classCount, predicted } = options;
  const posts = Array.from({ length: contributions.length / classCount }, (_, post) => {
    const pulls = contributions.subarray(post * classCount, (post + 1) * classCount);
    return { post, pull: pulls[predicted] - pulls.reduce((sum, value) => sum + value, 0) / classCount };
  });
  return posts.sort((left, right) => Math.abs(right.pull) - Math.abs(left.pull)).slice(0, WEIGHTIEST_POSTS);
}

/** Converts a value to what JSON would return, so that identities from a file and from memory can be compared. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const floatsSchema = z.string().describe('32-bit floats, little-endian, base64');

/** A trained local detector, as it is saved in JSON. */
export const fittedModelSchema = z.strictObject({
  format: z.literal('earshot-local-detector'),
  formatVersion: z.literal(3),
  task: z.string(),
  ...prefixModelSchema.shape,
  embedding: z
    .strictObject({ claim: floatsSchema, replies: floatsSchema })
    .nullable()
    .describe("weights of the encoder's dimensions, [dimensions, classes − 1]; null without an encoder"),
  training: z
    .strictObject({
      seed: z.int(),
      threads: recordOf(z.int()).describe('training threads of each label'),
      threadIdsSha256: z.string(),
      rows: z.int(),
      l2: z.number(),
      characterWeight: z.number(),
      heldOutLogLoss: z.number().describe('nats, of cross-validation after the temperature and before the offsets'),
      heldOut: heldOutSchema,
    })
    .describe('how the model was trained'),
});

export type FittedModel = z.infer<typeof fittedModelSchema>;
