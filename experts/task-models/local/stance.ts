import { z } from 'zod';
import type { Encoder } from '../../../src/text/encoder.ts';
import { type StanceItem, stanceClasses, type TaskModel } from '../task-model.ts';
import { cueReaders } from './cues.ts';
import { fineTunedClassifierOptionsSchema } from './fine-tuned-classifier.ts';
import { replyFeatureCount, replyReader } from './reply-features.ts';
import { textClassifier, textClassifierOptionsSchema } from './text-classifier.ts';

export const localStanceOptionsSchema = textClassifierOptionsSchema.extend({
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
  // Stances towards politicians (P-Stance) differ from stances towards rumours: with a weaker penalty, pretraining
  // would unlearn the cues.
  classifier: fineTunedClassifierOptionsSchema({ l2: 3, pretrainL2: 1000 }),
});

/** Logit of `support` of a reply that repeats its claim: as much as a support word in a text of one word. */
const OVERLAP_WEIGHT = 4;

/**
 * Stance by softmax regression on the post's embedding, its cues, the words that it shares with the claim, its place
 * and marks (`reply-features.ts`) and a constant; before any training by cues and shared words alone. The claim is not
 * embedded: the cosine of its embedding with the post's did not improve the separation of stances on held-out threads.
 */
export function createLocalStanceModel(setup: {
  options?: z.input<typeof localStanceOptionsSchema>;
  encoder: Encoder;
}): TaskModel<StanceItem> {
  const options = localStanceOptionsSchema.parse(setup.options ?? {});
  const { claimOverlap, replyFeatures } = options;
  const cues = cueReaders[options.cues];
  const read = replyReader();
  const replyStart = Number(claimOverlap);
  const constant = replyStart + (replyFeatures ? replyFeatureCount : 0);
  const features = constant + 1;
  const classCount = stanceClasses.length;
  const prior = { cues: cues.priorWeights, features: new Float64Array(features * classCount) };
  if (claimOverlap && options.cues !== 'none') prior.features[stanceClasses.indexOf('support')] = OVERLAP_WEIGHT;
  prior.features.set(cues.priorIntercept, constant * classCount);

  return textClassifier<StanceItem>({
    name: 'local-stance',
    version: 3,
    classes: stanceClasses,
    options,
    encoder: setup.encoder,
    roles: 1,
    features,
    prior,
    textsOf: ({ post }) => [{ text: post, role: 0, share: 1 }],
    featuresOf(item, cueValues) {
      const { overlap, features } = read(item);
      // A reply that repeats a claim to call it false does not support it.
      const isDenied = cues.denial !== null && cueValues[cues.denial] > 0;
      return [
        ...(claimOverlap ? [[0, isDenied ? 0 : overlap] as const] : []),
        [constant, 1],
        ...(replyFeatures ? features().map((value, index) => [replyStart + index, value] as const) : []),
      ];
    },
  });
}
