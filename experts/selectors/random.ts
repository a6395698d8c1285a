import type { ItemSelector } from './selector.ts';

/** With quotas by class, a random selection that has the same share of every machine label. */
export const random: ItemSelector = {
  description: 'drawn at random, the same share of every class: what a selector must beat',
  needs: 'nothing',
  score: async ({ items, random }) => items.map(() => ({ score: random.uniform(), reason: 'drawn at random' })),
};
