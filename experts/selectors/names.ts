/** The selectors, in the order of tables. */
export const selectorNames = [
  'seed-agreement',
  'knn-shapley',
  'influence',
  'regression',
  'confidence',
  'small-loss',
  'random',
] as const;
export type SelectorName = (typeof selectorNames)[number];
