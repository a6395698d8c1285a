import { z } from 'zod';
import { seedSchema } from '../../seed.ts';
import { parseItem } from '../bad-item.ts';
import { stories } from './words.ts';

const share = z.number().min(0).max(1);
/** With certainty a single post would decide everything, and the posterior would divide by zero. */
const accuracy = z.number().min(0.01).max(0.99);

/** The options of a synthetic stream; the head of stream.ts explains them. */
export const syntheticOptionsSchema = z
  .strictObject({
    threads: z.int().min(1).default(600).describe('how many threads'),
    seed: seedSchema.default(1).describe('fixes everything drawn'),
    rumorShare: accuracy.default(0.5).describe('probability that a thread is a rumor'),
    minPosts: z.int().min(1).default(3).describe('fewest posts of a thread, the claim counted'),
    maxPosts: z.int().min(1).max(200).default(30).describe('most posts of a thread'),
    typicalPosts: z
      .number()
      .min(1)
      .default(16)
      .describe('centre of the length distribution, a normal cut at both ends'),
    spreadPosts: z
      .number()
      .min(0.1)
      .default(6)
      .describe('standard deviation of the length distribution before the cut'),
    earlyPosts: z.int().min(0).default(4).describe('how many posts, the claim counted, are of the early phase'),
    neutralShare: share.max(0.99).default(0.45).describe('probability that a post carries no evidence'),
    distractorShare: share.default(0.3).describe('share of the neutral posts that are off topic'),
    misleadingShare: share.default(0.2).describe('probability that the early phase of a thread misleads'),
    earlyAccuracy: accuracy.default(0.75).describe('early, not misleading: probability that a telling post is right'),
    misleadingAccuracy: accuracy.default(0.25).describe('early, misleading: probability that a telling post is right'),
    lateAccuracy: accuracy.default(0.8).describe('late: probability that a telling post is right'),
    slowShare: share
      .default(0)
      .describe('probability that the evidence of a thread comes late: its first posts are all neutral'),
    slowPosts: z.int().min(0).default(10).describe('how many posts are neutral where the evidence comes late'),
    events: z
      .int()
      .min(1)
      .max(stories.length)
      .default(5)
      .describe('how many events the threads are about, unrelated to the class'),
  })
  .refine(({ minPosts, maxPosts }) => minPosts <= maxPosts, {
    path: ['minPosts'],
    error: 'must not be above maxPosts',
  })
  .refine(({ typicalPosts, minPosts, maxPosts }) => typicalPosts >= minPosts && typicalPosts <= maxPosts, {
    path: ['typicalPosts'],
    error: 'must lie between minPosts and maxPosts',
  });

/** The options of a caller, without defaults. */
export type SyntheticOptions = z.input<typeof syntheticOptionsSchema>;
/** The options with every default. */
export type SyntheticModel = z.output<typeof syntheticOptionsSchema>;

/** Fills in the defaults. @throws InputError for an option that is unknown or out of range */
export function syntheticModel(options: SyntheticOptions): SyntheticModel {
  return parseItem(syntheticOptionsSchema, { value: options, place: 'synthetic stream' });
}

/**
 * P(a thread has n posts) at index n: the density of a normal around typicalPosts, at whole numbers from minPosts to
 * maxPosts.
 * @returns [maxPosts + 1], sum 1
 */
export function lengthProbabilities(model: SyntheticModel): Float64Array {
  const weights = Float64Array.from({ length: model.maxPosts + 1 }, (_, posts) =>
    posts < model.minPosts ? 0 : Math.exp(-(((posts - model.typicalPosts) / model.spreadPosts) ** 2) / 2),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
