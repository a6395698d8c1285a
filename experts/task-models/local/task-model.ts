import { z } from 'zod';
import { likeliest } from '../../../src/likeliest.ts';
import { SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';
import { softmaxInPlace } from '../../../src/softmax.ts';
import type { Example, TaskModel, TaskPrediction } from '../task-model.ts';
import { englishCueReader } from './cues.ts';
import type { FineTunedClassifier } from './fine-tuned-classifier.ts';
import { explanationOf, type TellingWord } from './scored-texts.ts';

const languages = { english: englishCueReader, none: null };

/** The options that both local task models have. */
export const localModelOptionsSchema = z.strictObject({
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

export function cueReaderOf(cues: keyof typeof languages) {
  return languages[cues];
}

/** The classifier's score of an item. */
interface ItemScore {
  readonly logits: Float64Array;
  /** The words that speak for a class. A word may occur several times; its margins are then summed. */
  wordsFor(label: number): TellingWord[];
}

/** Items that are encoded and scored together. */
const BATCH = 256;

/** What the local stance and veracity models have in common: batches, held-out classifiers, explanations. */
export function localTaskModel<Item extends { readonly threadId: string }>(parts: {
  classes: readonly string[];
  identity: Readonly<Record<string, unknown>>;
  classifier: FineTunedClassifier;
  columns: number;
  wordCount: number;
  /** Adds one row for each item. */
  addRows: (options: { items: readonly Item[]; into: SparseMatrixBuilder }) => Promise<void>;
  /** One for each item, in order. */
  score: (options: { items: readonly Item[]; weights: Float64Array }) => Promise<ItemScore[]>;
}): TaskModel<Item> {
  const { classes, classifier, columns, wordCount, addRows, score } = parts;

  async function labelledRows(examples: readonly Example<Item>[]) {
    const into = new SparseMatrixBuilder({ columns });
    for (let start = 0; start < examples.length; start += BATCH)
      await addRows({ items: examples.slice(start, start + BATCH).map(({ item }) => item), into });
    return {
      features: into.build(),
      labels: examples.map(({ label }) => label),
      threadIds: examples.map(({ item }) => item.threadId),
    };
  }

  function predictionOf({ logits, wordsFor }: ItemScore): TaskPrediction {
    const distribution = logits.slice();
    softmaxInPlace(distribution);
    const label = likeliest(distribution);
    return { distribution, explanation: wordCount === 0 ? '' : explanationOf({ words: wordsFor(label), wordCount }) };
  }

  return {
    classes,
    identity: parts.identity,
    async predict(items) {
      // The same weights throughout, even if the model is tuned while texts are being encoded.
      const weights = classifier.weights();
      const fits = items.map(({ threadId }) => classifier.fitFor(threadId));
      const predictions: TaskPrediction[] = new Array(items.length);
      for (const fit of new Set(fits)) {
        const places = fits.flatMap((own, place) => (own === fit ? [place] : []));
        for (let start = 0; start < places.length; start += BATCH) {
          const batch = places.slice(start, start + BATCH);
          const scores = await score({ items: batch.map((place) => items[place]), weights: weights[fit] });
          for (const [index, place] of batch.entries()) predictions[place] = predictionOf(scores[index]);
        }
      }
      return predictions;
    },
    async pretrain(examples) {
      classifier.checkLabels(examples);
      await classifier.pretrain(await labelledRows(examples));
    },
    async tune(examples) {
      classifier.checkLabels(examples);
      await classifier.tune(await labelledRows(examples));
    },
    state: () => classifier.state(),
    restore: (state) => classifier.restore(state),
  };
}
