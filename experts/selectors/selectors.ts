import { influence } from './influence.ts';
import { knnShapley } from './knn-shapley.ts';
import type { SelectorName } from './names.ts';
import { regression } from './regression.ts';
import { seedAgreement } from './seed-agreement.ts';
import type { ItemSelector } from './selector.ts';
import { smallLoss } from './small-loss.ts';

const confidence: ItemSelector = {
  description: 'the probability that the machine gave its own label',
  needs: 'confidence',
  score: async ({ items }) =>
    items.map(({ confidence: own }) => ({
      score: own ?? 0,
      reason: own === null ? 'no confidence known' : `the machine is ${own.toFixed(2)} sure`,
    })),
};

/** With quotas by class, a random selection that has the same share of every machine label. */
const random: ItemSelector = {
  description: 'drawn at random, the same share of every class: what a selector must beat',
  needs: 'nothing',
  score: async (task) => task.items.map(() => ({ score: task.random.uniform(), reason: 'drawn at random' })),
};

/** Every selector by the name that people choose it by. */
export const selectors: Readonly<Record<SelectorName, ItemSelector>> = {
  'seed-agreement': seedAgreement,
  'knn-shapley': knnShapley,
  influence,
  regression,
  confidence,
  'small-loss': smallLoss,
  random,
};
