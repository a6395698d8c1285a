import type { ItemSelector } from './selector.ts';

export const confidence: ItemSelector = {
  description: 'the probability that the machine gave its own label',
  needs: 'confidence',
  score: async ({ items }) =>
    items.map(({ confidence: own }) => ({
      score: own ?? 0,
      reason: own === null ? 'no confidence known' : `the machine is ${own.toFixed(2)} sure`,
    })),
};
