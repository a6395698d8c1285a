import type { SyntheticModel } from './options.ts';

/** P(a thread has n posts) at index n; a normal around typicalPosts, at whole numbers from minPosts to maxPosts. */
export function lengthProbabilities(model: SyntheticModel): Float64Array {
  const weights = Float64Array.from({ length: model.maxPosts + 1 }, (_, posts) =>
    posts < model.minPosts ? 0 : Math.exp(-(((posts - model.typicalPosts) / model.spreadPosts) ** 2) / 2),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
