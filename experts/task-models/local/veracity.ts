import { z } from 'zod';
import { checked } from '../../../src/checked.ts';
import { InputError } from '../../../src/errors.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { type StancedPost, stanceClasses, type TaskModel, type VeracityItem, veracityClasses } from '../task-model.ts';
import { fineTunedClassifier, fineTunedClassifierOptionsSchema } from './fine-tuned-classifier.ts';
import { scoredTexts } from './scored-texts.ts';
import { cueReaderOf, localModelOptionsSchema, localTaskModel } from './task-model.ts';
import { textReader } from './text-reader.ts';

export const localVeracityOptionsSchema = localModelOptionsSchema.extend({
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

/** To be raised with every change that changes a prediction. */
const VERSION = 1;

/**
 * Veracity by softmax regression on the claim's embedding and cues, the means of the posts' embeddings and cues, the
 * mean of their known stances minus the uniform distribution, ln(1 + posts), and a constant. Before training all
 * classes are equally likely: words show a post's attitude, not whether a claim is true.
 */
export function createLocalVeracityModel(setup: {
  options?: z.input<typeof localVeracityOptionsSchema> | undefined;
  encoder: Encoder;
}): TaskModel<VeracityItem> {
  const { encoder } = setup;
  const wrong = 'the options of the local veracity model are wrong';
  const options = checked(localVeracityOptionsSchema, setup.options ?? {}, wrong);
  const { claimWeight, postWeight, postCountWeight } = options;
  const classCount = veracityClasses.length;
  const wordCount = options.explanationWords;
  const reader = textReader({ encoder, cues: cueReaderOf(options.cues), readsWords: wordCount > 0 });

  const width = encoder.dimensions + reader.cues.count;
  const claimRole = { rowStart: 0, cueStart: encoder.dimensions };
  const postRole = { rowStart: width, cueStart: width + encoder.dimensions };
  const stanceStart = 2 * width;
  const count = stanceStart + stanceClasses.length;
  const constant = count + 1;
  const columns = constant + 1;
  const claims = scoredTexts({ reader, role: claimRole, classCount, wordCount });
  const posts = scoredTexts({ reader, role: postRole, classCount, wordCount });

  /** Index and value of the features that do not come from texts. */
  const ownFeatures = (item: VeracityItem): [number, number][] => [
    ...Array.from(meanStance(item.posts), (value, index): [number, number] => [stanceStart + index, value]),
    [count, postCountWeight * Math.log1p(item.posts.length)],
    [constant, 1],
  ];

  return localTaskModel<VeracityItem>({
    classes: veracityClasses,
    identity: { name: 'local-veracity', version: VERSION, ...options, encoder: encoder.identity },
    classifier: fineTunedClassifier({
      prior: new Float64Array(columns * classCount),
      classCount,
      options: options.classifier,
    }),
    columns,
    wordCount,
    async addRows({ items, into }) {
      for (const item of items) {
        const [claim, ...replies] = await reader.read([item.claim, ...item.posts.map(({ text }) => text)]);
        const means = new Float32Array(width);
        const share = postWeight / Math.max(1, replies.length);
        for (const { row, cues } of replies) {
          for (let entry = 0; entry < row.indices.length; entry++)
            means[row.indices[entry]] += share * row.values[entry];
          for (let cue = 0; cue < cues.values.length; cue++)
            means[encoder.dimensions + cue] += share * cues.values[cue];
        }
        into.addRow({ row: claim.row, offset: claimRole.rowStart, scale: claimWeight });
        for (const [cue, value] of claim.cues.values.entries()) into.add(claimRole.cueStart + cue, claimWeight * value);
        for (let index = 0; index < width; index++) into.add(postRole.rowStart + index, means[index]);
        for (const [index, value] of ownFeatures(item)) into.add(index, value);
        into.endRow();
      }
    },
    async score({ items, weights }) {
      const scoredClaims = await claims({ texts: items.map(({ claim }) => claim), weights });
      const scoredPosts = await posts({
        texts: items.flatMap((item) => item.posts.map(({ text }) => text)),
        weights,
      });
      let next = 0;
      return items.map((item, index) => {
        const claim = scoredClaims[index];
        const replies = scoredPosts.slice(next, next + item.posts.length);
        next += item.posts.length;
        const share = postWeight / Math.max(1, replies.length);
        const logits = claim.logits.map((logit) => claimWeight * logit);
        for (const reply of replies)
          for (let label = 0; label < classCount; label++) logits[label] += share * reply.logits[label];
        for (const [feature, value] of ownFeatures(item))
          for (let label = 0; label < classCount; label++)
            logits[label] += value * weights[feature * classCount + label];
        return {
          logits,
          wordsFor: (label) => [
            ...claim.words[label].map(({ word, margin }) => ({ word, margin: claimWeight * margin })),
            ...replies.flatMap(({ words }) =>
              words[label].map(({ word, margin }) => ({ word, margin: share * margin })),
            ),
          ],
        };
      });
    },
  });
}

/** The mean stance of the posts whose stance is known, minus the uniform distribution; zero where none is known. */
function meanStance(posts: readonly StancedPost[]): Float64Array {
  const mean = new Float64Array(stanceClasses.length);
  const known = posts.flatMap(({ stance }) => (stance === null ? [] : [stance]));
  for (const stance of known) {
    if (stance.length !== mean.length)
      throw new InputError(
        `a post's stance has ${stance.length} probabilities; give ${mean.length}, in the order ${stanceClasses.join(', ')}`,
      );
    for (let index = 0; index < mean.length; index++) mean[index] += (stance[index] - 1 / mean.length) / known.length;
  }
  return mean;
}
