import { z } from 'zod';
import { likeliest } from '../../../src/likeliest.ts';
import { type SparseMatrix, SparseMatrixBuilder, type SparseRow } from '../../../src/regression/sparse-matrix.ts';
import { softmaxInPlace } from '../../../src/softmax.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import type { Example, TaskModel, TaskPrediction } from '../task-model.ts';
import { type CueReader, cueReaders } from './cues.ts';
import { explanationOf, type TellingWord, tellingWords } from './explanation.ts';
import { type FineTunedClassifierOptions, fineTunedClassifier } from './fine-tuned-classifier.ts';
import { BoundedCache, type ReadText, type TextReader, textReader } from './text-reader.ts';

/** The options that all text classifiers have. */
export const textClassifierOptionsSchema = z.strictObject({
  cues: z
    .enum(['english', 'none'])
    .default('english')
    .describe('expressions of support, denial and doubt that are known before training'),
  explanationWords: z
    .int()
    .min(0)
    .max(20)
    .default(5)
    .describe('most words that an explanation names; 0: no explanations'),
});

/** The contribution of a text to a prediction under one fit. */
interface ScoredText {
  /** One logit per class. */
  readonly logits: Float64Array;
  /** The words that support each class most. */
  readonly words: readonly (readonly TellingWord[])[];
  /** Values of the cues. */
  readonly cues: Float64Array;
}

/** Items that are encoded and scored together. */
const BATCH = 256;
/** Numbers and words cached per fit and role, of about 30 bytes each. */
const CACHED_SIZE = 2_000_000;

/** The features of a classifier's items. */
interface ItemFeatures<Item> {
  /** The number of text kinds per item. */
  readonly roles: number;
  /** The number of further features per item. */
  readonly features: number;
  /** The texts of an item, in the order in which their scores are added. */
  textsOf(item: Item): readonly {
    readonly text: string;
    /** Index of the weights that read the text. */
    readonly role: number;
    /** The factor of the text's features. */
    readonly share: number;
  }[];
  /** Further features, in the order in which their scores are added. @param cues values of the first text's cues */
  featuresOf(item: Item, cues: Float64Array): readonly (readonly [feature: number, value: number])[];
}

/** The columns: those of the first role (its embedding, its cues), of the next role, and then the further features. */
interface Columns {
  readonly dimensions: number;
  /** Columns of a role. */
  readonly width: number;
  readonly featureStart: number;
  readonly count: number;
  readonly classCount: number;
}

/**
 * A softmax regression of items on the embeddings and cues of their texts, and on further features.
 * @param setup.version raised with every change that changes a prediction
 * @param setup.prior weights before any training, [cues, classes] of the first role and [features, classes]; 0 by
 *   default
 */
export function textClassifier<Item extends { readonly threadId: string }>(
  setup: ItemFeatures<Item> & {
    name: string;
    version: number;
    classes: readonly string[];
    options: z.infer<typeof textClassifierOptionsSchema> & { readonly classifier: FineTunedClassifierOptions };
    encoder: Encoder;
    prior?: { readonly cues: Float64Array; readonly features: Float64Array };
  },
): TaskModel<Item> {
  const { name, version, classes, options, encoder, roles } = setup;
  const { dimensions } = encoder;
  const classCount = classes.length;
  const cues: CueReader = cueReaders[options.cues];
  const reader = textReader({ encoder, cues, readsWords: options.explanationWords > 0 });
  const width = dimensions + cues.count;
  const featureStart = roles * width;
  const columns = { dimensions, width, featureStart, count: featureStart + setup.features, classCount };
  const prior = new Float64Array(columns.count * classCount);
  prior.set(setup.prior?.cues ?? [], dimensions * classCount);
  prior.set(setup.prior?.features ?? [], featureStart * classCount);
  const classifier = fineTunedClassifier({ prior, classCount, options: options.classifier });
  const score = itemScorer(setup, { reader, columns, wordCount: options.explanationWords });
  const labelledRows = async (examples: readonly Example<Item>[]) => ({
    labels: examples.map(({ label }) => label),
    features: await rowsOf(
      examples.map(({ item }) => item),
      { of: setup, reader, columns },
    ),
    threadIds: examples.map(({ item }) => item.threadId),
  });
  return {
    classes,
    identity: { name, version, ...options, encoder: encoder.identity },
    async predict(items) {
      // One array for all items, even if the model is tuned while texts are being encoded.
      const weights = classifier.weights();
      const fits = items.map(({ threadId }) => classifier.fitFor(threadId));
      const predictions: TaskPrediction[] = new Array(items.length);
      for (const fit of new Set(fits)) {
        const places = fits.flatMap((other, place) => (other === fit ? [place] : []));
        for (let start = 0; start < places.length; start += BATCH) {
          const batch = places.slice(start, start + BATCH);
          const batchItems = batch.map((place) => items[place]);
          for (const [index, prediction] of (await score(batchItems, weights[fit])).entries())
            predictions[batch[index]] = prediction;
        }
      }
      return predictions;
    },
    pretrain: async (examples) => classifier.pretrain(await labelledRows(examples)),
    tune: async (examples) => classifier.tune(await labelledRows(examples)),
    state: classifier.state,
    restore: classifier.restore,
  };
}

/** One row per item. */
async function rowsOf<Item>(
  items: readonly Item[],
  { of, reader, columns }: { of: ItemFeatures<Item>; reader: TextReader; columns: Columns },
): Promise<SparseMatrix> {
  const { dimensions, width, featureStart } = columns;
  const into = new SparseMatrixBuilder({ columns: columns.count });
  for (let start = 0; start < items.length; start += BATCH) {
    const batch = items.slice(start, start + BATCH).map((item) => ({ item, texts: of.textsOf(item) }));
    const read = await reader.read(batch.flatMap(({ texts }) => texts.map(({ text }) => text)));
    let next = 0;
    for (const { item, texts } of batch) {
      const first = read[next];
      const sums = new Float32Array(featureStart);
      for (const { role, share } of texts) {
        const { row, cues } = read[next++];
        const from = role * width;
        for (let entry = 0; entry < row.indices.length; entry++)
          sums[from + row.indices[entry]] += share * row.values[entry];
        for (const [cue, value] of cues.values.entries()) sums[from + dimensions + cue] += share * value;
      }
      for (let column = 0; column < featureStart; column++) into.add(column, sums[column]);
      const features = [...of.featuresOf(item, first.cues.values)].sort(([left], [right]) => left - right);
      for (const [feature, value] of features) into.add(featureStart + feature, value);
      into.endRow();
    }
  }
  return into.build();
}

/**
 * Predicts items under the weights of a fit. Each text is scored once per fit, so a prediction for a claim and k posts
 * is a sum of k + 1 short vectors, however long the texts are. A fit's weights array never changes, identifies it, and
 * takes its scores along when it is dropped.
 */
function itemScorer<Item>(
  { roles, textsOf, featuresOf }: ItemFeatures<Item>,
  { reader, columns, wordCount }: { reader: TextReader; columns: Columns; wordCount: number },
): (items: readonly Item[], weights: Float64Array) => Promise<TaskPrediction[]> {
  const { featureStart, classCount } = columns;
  const caches = Array.from({ length: roles }, () => new WeakMap<Float64Array, BoundedCache<ScoredText>>());
  return async (items, weights) => {
    const texts = items.map(textsOf);
    const scored: ReadonlyMap<string, ScoredText>[] = [];
    for (const [role, cache] of caches.entries()) {
      const scores = cache.get(weights) ?? new BoundedCache<ScoredText>({ maximumSize: CACHED_SIZE, sizeOf });
      cache.set(weights, scores);
      const roleTexts = texts.flatMap((all) => all.flatMap((one) => (one.role === role ? [one.text] : [])));
      const make = async (missing: readonly string[]) =>
        (await reader.read(missing)).map((read) => scoreText(read, { role, weights, columns, wordCount }));
      scored.push(await scores.all(roleTexts, make));
    }
    return items.map((item, index) => {
      const scoredTexts = texts[index].map(({ text, role, share }) => ({ share, ...scored[role].get(text)! }));
      const distribution = new Float64Array(classCount);
      for (const { share, logits } of scoredTexts)
        for (let label = 0; label < classCount; label++) distribution[label] += share * logits[label];
      for (const [feature, value] of featuresOf(item, scoredTexts[0].cues))
        for (let label = 0; label < classCount; label++)
          distribution[label] += value * weights[(featureStart + feature) * classCount + label];
      softmaxInPlace(distribution);
      const label = likeliest(distribution);
      const words = scoredTexts.flatMap(({ share, words: of }) =>
        (of[label] ?? []).map(({ word, margin }) => ({ word, margin: share * margin })),
      );
      return { distribution, explanation: wordCount === 0 ? '' : explanationOf(words, wordCount) };
    });
  };
}

function scoreText(
  read: ReadText,
  {
    role,
    weights,
    columns: { dimensions, width, classCount },
    wordCount,
  }: { role: number; weights: Float64Array; columns: Columns; wordCount: number },
): ScoredText {
  const weightsOf = (column: number) =>
    weights.subarray((role * width + column) * classCount, (role * width + column + 1) * classCount);
  const add = (logits: Float64Array, column: number, value: number) => {
    const first = (role * width + column) * classCount;
    for (let label = 0; label < classCount; label++) logits[label] += value * weights[first + label];
  };
  const rowLogits = ({ indices, values }: SparseRow) => {
    const logits = new Float64Array(classCount);
    for (let entry = 0; entry < indices.length; entry++) add(logits, indices[entry], values[entry]);
    return logits;
  };
  const logits = rowLogits(read.row);
  for (const [cue, value] of read.cues.values.entries()) add(logits, dimensions + cue, value);
  const words = () => [
    ...read.cues.matches.map(({ expression, cue }) => ({ word: expression, of: weightsOf(dimensions + cue) })),
    ...read.words.map(({ text, row }) => ({ word: text, of: rowLogits(row) })),
  ];
  const share = 1 / Math.sqrt(1 + read.words.length);
  return {
    logits,
    words: wordCount === 0 ? [] : tellingWords(words(), { share, classCount, wordCount }),
    cues: read.cues.values,
  };
}

function sizeOf({ logits, words, cues }: ScoredText): number {
  return words.reduce((sum, list) => sum + list.length, logits.length + cues.length + 4);
}
