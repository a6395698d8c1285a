import { z } from 'zod';
import { checked } from '../../../src/checked.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { type StanceItem, stanceClasses, type TaskModel } from '../task-model.ts';
import { claimOverlapReader } from './claim-overlap.ts';
import type { ReadCues } from './cues.ts';
import { fineTunedClassifier, fineTunedClassifierOptionsSchema } from './fine-tuned-classifier.ts';
import { replyFeatureCount, replyFeatureReader } from './reply-features.ts';
import { scoredTexts } from './scored-texts.ts';
import { cueReaderOf, localModelOptionsSchema, localTaskModel } from './task-model.ts';
import { textReader } from './text-reader.ts';

export const localStanceOptionsSchema = localModelOptionsSchema.extend({
  claimOverlap: z
    .boolean()
    .default(true)
    .describe('read how many words a reply shares with its claim; before training, they speak for support as cues do'),
  replyFeatures: z
    .boolean()
    .default(true)
    .describe(
      'read marks, lengths, place in the thread, time and the post that is answered; they tell something only where stance labels are learnt from',
    ),
  // Stances towards politicians (P-Stance) say little about stances towards rumours: with a weaker penalty,
  // pretraining would unlearn the cues.
  classifier: fineTunedClassifierOptionsSchema({ l2: 3, pretrainL2: 1000 }),
});

/** To be raised with every change that changes a prediction. */
const VERSION = 3;

/** Logit of `support` of a reply that repeats its claim word for word: as much as a support word in a text of one word. */
const OVERLAP_WEIGHT = 4;

/**
 * Stance by softmax regression on the post's embedding, its cues, the words that it shares with the claim, what its
 * place and its marks tell (`reply-features.ts`) and a constant; before any training by cues and shared words alone. The claim is
 * read no further: the cosine of its embedding with the post's did not improve the separation of stances on held-out threads.
 */
export function createLocalStanceModel(setup: {
  options?: z.input<typeof localStanceOptionsSchema> | undefined;
  encoder: Encoder;
}): TaskModel<StanceItem> {
  const { encoder } = setup;
  const wrong = 'the options of the local stance model are wrong';
  const options = checked(localStanceOptionsSchema, setup.options ?? {}, wrong);
  const classCount = stanceClasses.length;
  const wordCount = options.explanationWords;
  const reader = textReader({ encoder, cues: cueReaderOf(options.cues), readsWords: wordCount > 0 });
  const { cues } = reader;

  const cueStart = encoder.dimensions;
  const overlap = cueStart + cues.count;
  const overlapOf = options.claimOverlap ? claimOverlapReader() : null;
  const replyStart = overlapOf === null ? overlap : overlap + 1;
  const featuresOf = options.replyFeatures ? replyFeatureReader() : null;
  const constant = featuresOf === null ? replyStart : replyStart + replyFeatureCount;
  const columns = constant + 1;
  const prior = new Float64Array(columns * classCount);
  prior.set(cues.priorWeights, cueStart * classCount);
  if (overlapOf !== null && options.cues !== 'none')
    prior[overlap * classCount + stanceClasses.indexOf('support')] = OVERLAP_WEIGHT;
  prior.set(cues.priorIntercept, constant * classCount);
  /** Whoever repeats a claim to call it false does not support it. */
  const sharedWords = (item: StanceItem, { values }: ReadCues) =>
    overlapOf === null || (cues.denial !== null && values[cues.denial] > 0) ? 0 : overlapOf(item);
  const posts = scoredTexts({ reader, role: { rowStart: 0, cueStart }, classCount, wordCount });

  return localTaskModel<StanceItem>({
    classes: stanceClasses,
    identity: { name: 'local-stance', version: VERSION, ...options, encoder: encoder.identity },
    classifier: fineTunedClassifier({ prior, classCount, options: options.classifier }),
    columns,
    wordCount,
    async addRows({ items, into }) {
      for (const [index, { row, cues: own }] of (await reader.read(items.map(({ post }) => post))).entries()) {
        into.addRow({ row, offset: 0, scale: 1 });
        for (const [cue, value] of own.values.entries()) into.add(cueStart + cue, value);
        if (overlapOf !== null) into.add(overlap, sharedWords(items[index], own));
        for (const [feature, value] of featuresOf?.(items[index]).entries() ?? [])
          into.add(replyStart + feature, value);
        into.add(constant, 1);
        into.endRow();
      }
    },
    async score({ items, weights }) {
      const intercept = weights.subarray(constant * classCount);
      const ofOverlap = weights.subarray(overlap * classCount, replyStart * classCount);
      const texts = items.map(({ post }) => post);
      const scored = await posts({ texts, weights });
      const read = overlapOf === null ? [] : await reader.read(texts);
      return scored.map((text, index) => {
        const logits = text.logits.map((logit, label) => {
          const shared = overlapOf === null ? 0 : sharedWords(items[index], read[index].cues) * ofOverlap[label];
          return logit + shared + intercept[label];
        });
        for (const [feature, value] of featuresOf?.(items[index]).entries() ?? [])
          for (let label = 0; label < classCount; label++)
            logits[label] += value * weights[(replyStart + feature) * classCount + label];
        return { logits, wordsFor: (label) => [...text.words[label]] };
      });
    },
  });
}
