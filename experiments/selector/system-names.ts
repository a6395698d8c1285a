export const selectorName = 'selector';
/** The selector's task models when they read every post: the policy's worth in training alone. */
export const allPostsName = 'selector-all-posts';

/** The names in tables. */
export const systemNames: Readonly<Record<string, string>> = {
  [selectorName]: selectorName,
  [allPostsName]: 'its task models, reading all posts',
  untuned: 'task models untuned',
  everything: 'tuned on everything, no selection',
  random: 'random selection of the same size',
  'random-by-class': 'random selection alike in every class',
  'seed-agreement': 'labels that a model of the human ones agrees with',
  'knn-shapley': 'labels of the highest KNN-Shapley value',
  influence: 'labels whose step lowers the loss on human ones',
  regression: 'labels by a regression of those effects',
  confidence: 'labels that the machine is surest of',
  'small-loss': 'labels that a model of the others agrees with',
  'right-labels': 'only labels that are right or cannot be checked',
  supervised: 'tuned on human labels',
  majority: 'most common class',
  'nearest-neighbour': 'most similar text (1-NN on words)',
  'tf-idf': 'TF-IDF and logistic regression',
};
