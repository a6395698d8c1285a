import { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { type StanceItem, stanceClasses, type TaskModel } from '../task-model.ts';
import { FineTunedClassifier, fineTunedClassifierOptionsSchema } from './fine-tuned-classifier.ts';
import { ScoredTexts } from './scored-texts.ts';
import { cueReaderOf, localModelOptionsSchema, localTaskModel } from './task-model.ts';
import { TextReader } from './text-reader.ts';

export const localStanceOptionsSchema = localModelOptionsSchema.extend({
  // Stances towards politicians (P-Stance) say little about stances towards rumours: with a weaker penalty,
  // pretraining would unlearn the cues.
  classifier: fineTunedClassifierOptionsSchema({ l2: 3, pretrainL2: 1000 }),
});

/** To be raised with every change that changes a prediction. */
const VERSION = 1;

/**
 * Stance by softmax regression on the post's embedding, its cues and a constant; before any training by the cues
 * alone. The claim is not read: its cosine with the post did not improve the separation of stances on held-out
 * threads.
 */
export function createLocalStanceModel(setup: {
  options?: z.input<typeof localStanceOptionsSchema> | undefined;
  encoder: Encoder;
}): TaskModel<StanceItem> {
  const { encoder } = setup;
  const parsed = localStanceOptionsSchema.safeParse(setup.options ?? {});
  if (!parsed.success)
    throw new InputError(`the options of the local stance model are wrong:\n${z.prettifyError(parsed.error)}`);
  const options = parsed.data;
  const classCount = stanceClasses.length;
  const wordCount = options.explanationWords;
  const reader = new TextReader({ encoder, cues: cueReaderOf(options.cues), readsWords: wordCount > 0 });
  const { cues } = reader;

  const cueStart = encoder.dimensions;
  const constant = cueStart + cues.count;
  const columns = constant + 1;
  const prior = new Float64Array(columns * classCount);
  prior.set(cues.priorWeights, cueStart * classCount);
  prior.set(cues.priorIntercept, constant * classCount);
  const posts = new ScoredTexts({ reader, role: { rowStart: 0, cueStart }, classCount, wordCount });

  return localTaskModel<StanceItem>({
    classes: stanceClasses,
    identity: { name: 'local-stance', version: VERSION, ...options, encoder: encoder.identity },
    classifier: new FineTunedClassifier({ prior, classCount, options: options.classifier }),
    columns,
    wordCount,
    async addRows({ items, into }) {
      for (const { row, cues: own } of await reader.read(items.map(({ post }) => post))) {
        into.addRow({ row, offset: 0, scale: 1 });
        for (const [cue, value] of own.values.entries()) into.add(cueStart + cue, value);
        into.add(constant, 1);
        into.endRow();
      }
    },
    async score({ items, weights }) {
      const intercept = weights.subarray(constant * classCount);
      const scored = await posts.of({ texts: items.map(({ post }) => post), weights });
      return scored.map(({ logits, words }) => ({
        logits: logits.map((logit, label) => logit + intercept[label]),
        wordsFor: (label) => [...words[label]],
      }));
    },
  });
}
