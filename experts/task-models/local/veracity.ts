import { z } from 'zod';
import type { Encoder } from '../../../src/text/encoder.ts';
import { type StancedPost, stanceClasses, type TaskModel, type VeracityItem, veracityClasses } from '../task-model.ts';
import { fineTunedClassifierOptionsSchema } from './fine-tuned-classifier.ts';
import { textClassifier, textClassifierOptionsSchema } from './text-classifier.ts';

export const localVeracityOptionsSchema = textClassifierOptionsSchema.extend({
  // Claims are few and differ in many weak signs: with a stronger penalty, 100 of them would teach little.
  classifier: fineTunedClassifierOptionsSchema({ l2: 0.3, pretrainL2: 0.3 }),
  claimWeight: z
    .number()
    .min(0)
    .default(1)
    .describe(
      "factor of the claim's own embedding and cues; 0 leaves the claim out, so that no story is learnt by its words",
    ),
  postWeight: z
    .number()
    .min(0)
    .default(2)
    .describe("factor of the posts' mean embedding, relative to 1 for the claim's"),
  postCountWeight: z.number().min(0).default(0.3).describe('factor of ln(1 + posts); 0 leaves it out'),
});

/**
 * Veracity by softmax regression on the claim's embedding and cues, the means of the posts' embeddings and cues, the
 * mean of their known stances minus the uniform distribution, ln(1 + posts), and a constant. Before training all
 * classes are equally likely: words show a post's attitude, not whether a claim is true.
 */
export function createLocalVeracityModel(setup: {
  options?: z.input<typeof localVeracityOptionsSchema>;
  encoder: Encoder;
}): TaskModel<VeracityItem> {
  const options = localVeracityOptionsSchema.parse(setup.options ?? {});
  const { claimWeight, postWeight, postCountWeight } = options;
  const count = stanceClasses.length;
  return textClassifier<VeracityItem>({
    name: 'local-veracity',
    version: 1,
    classes: veracityClasses,
    options,
    encoder: setup.encoder,
    roles: 2,
    features: count + 2,
    textsOf: ({ claim, posts }) => [
      { text: claim, role: 0, share: claimWeight },
      ...posts.map(({ text }) => ({ text, role: 1, share: postWeight / posts.length })),
    ],
    featuresOf: ({ posts }) => [
      ...meanStance(posts).entries(),
      [count, postCountWeight * Math.log1p(posts.length)],
      [count + 1, 1],
    ],
  });
}

/** The mean of the posts' known stances minus the uniform distribution; zero without any. */
function meanStance(posts: readonly StancedPost[]): Float64Array {
  const mean = new Float64Array(stanceClasses.length);
  const stances = posts.flatMap(({ stance }) => (stance === null ? [] : [stance]));
  for (const stance of stances)
    for (let index = 0; index < mean.length; index++) mean[index] += (stance[index] - 1 / mean.length) / stances.length;
  return mean;
}
