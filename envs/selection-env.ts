import { InputError } from '../src/errors.ts';
import type { Random } from '../src/tensor/random.ts';

/*
 * The two-level MDP of the selector (JSDRV, §4). Each step shows one item, and the action is 0 (discard) or 1 (retain).
 * A claim's pre-selected posts are shown first, one a step at the post level; then the claim itself is shown at the
 * claim level. At either level the state describes the item shown and the mean of those retained before it, and an
 * action changes nothing but that mean. A policy that retains nothing is allowed: the mean is then zero throughout.
 *
 *   c, x     a claim, a post      ε        share of steps that explore
 *   p, q     distributions        s_i, a_i state and action of step i; R, r rewards of claim and post level
 *
 * Where we differ from the paper:
 *   sgn(cos(p, q))   Two distributions are never at an obtuse angle, so the sign would always be +1. Here both are
 *                    centred on the class prior first: +1 then says that p and q lean away from it to the same side.
 */

/**
 * Eq. 1: draws the order in which a claim's posts are shown. With probability 1 − ε, the next post is the earliest one
 * left; with probability ε, a uniform one of those left.
 * @param options.posts number of posts, in time order
 * @returns [min(take, posts)] different indices below `posts`
 */
export function preselectPosts(options: { posts: number; take: number; epsilon: number; random: Random }): Int32Array {
  const { posts, take, epsilon, random } = options;
  const left = Array.from({ length: posts }, (_, index) => index);
  return Int32Array.from({ length: Math.min(take, posts) }, () => {
    const place = random.uniform() < epsilon ? random.integer(left.length) : 0;
    return left.splice(place, 1)[0];
  });
}

/**
 * Eq. 2: draws the claims of an epoch without replacement. With probability 1 − ε, the next claim is a uniform labelled
 * one; with probability ε, a uniform unlabelled one. Once one kind is used up, the other is drawn.
 * @param options.isLabelled [claims]
 * @returns [min(take, claims)] different indices into `isLabelled`
 */
export function preselectClaims(options: {
  isLabelled: readonly boolean[];
  take: number;
  epsilon: number;
  random: Random;
}): Int32Array {
  const { isLabelled, take, epsilon, random } = options;
  const indices = random.shuffled([...isLabelled.keys()]);
  const labelled = indices.filter((index) => isLabelled[index]);
  const unlabelled = indices.filter((index) => !isLabelled[index]);
  return Int32Array.from({ length: Math.min(take, indices.length) }, () => {
    const explores = random.uniform() < epsilon;
    const [preferred, other] = explores ? [unlabelled, labelled] : [labelled, unlabelled];
    return preferred.pop() ?? other.pop()!;
  });
}

/** The items retained so far at one level: the sum of their embeddings, [dimensions], and their number. */
export interface RetainedContext {
  readonly sum: Float64Array;
  count: number;
}

/** The context at the start of a claim (post level) or of an epoch (claim level). */
export function emptyContext(dimensions: number): RetainedContext {
  return { sum: new Float64Array(dimensions), count: 0 };
}

/** Adds a retained item's embedding, [dimensions], to the context in place. */
export function retain(context: RetainedContext, embedding: ArrayLike<number>): void {
  for (let index = 0; index < context.sum.length; index++) context.sum[index] += embedding[index];
  context.count++;
}

/** Numbers per state: claim, context, explanation, and the class distribution if it is shown (otherwise 0 classes). */
export function stateSize(options: { dimensions: number; shownClasses: number }): number {
  return 3 * options.dimensions + options.shownClasses;
}

/**
 * Makes a state of either level (§4.3): `[e(claim); mean e(items retained so far); e(explanation of the item shown)]`,
 * then the item's class distribution if given (an extension, off by default). The mean of no items is zero.
 * @param parts.claim [dimensions], as `parts.explanation`
 * @returns [stateSize]
 */
export function selectionState(parts: {
  claim: ArrayLike<number>;
  context: RetainedContext;
  explanation: ArrayLike<number>;
  distribution?: ArrayLike<number>;
}): Float32Array {
  const { claim, context, explanation, distribution = [] } = parts;
  const dimensions = context.sum.length;
  const state = new Float32Array(stateSize({ dimensions, shownClasses: distribution.length }));
  state.set(claim, 0);
  if (context.count > 0)
    for (let index = 0; index < dimensions; index++) state[dimensions + index] = context.sum[index] / context.count;
  state.set(explanation, 2 * dimensions);
  state.set(distribution, 3 * dimensions);
  return state;
}

/** A cosine or a distance below this is a rounding error: a distribution equal to its prior has no direction. */
const rounding = 1e-9;

/** cos(p − prior, q − prior) of distributions [classes]. @returns in [−1, 1]; 0 if p or q equals the prior */
export function centredCosine(options: {
  p: ArrayLike<number>;
  q: ArrayLike<number>;
  prior: ArrayLike<number>;
}): number {
  const { p, q, prior } = options;
  let product = 0;
  let squaresP = 0;
  let squaresQ = 0;
  for (let index = 0; index < prior.length; index++) {
    const fromPriorP = p[index] - prior[index];
    const fromPriorQ = q[index] - prior[index];
    product += fromPriorP * fromPriorQ;
    squaresP += fromPriorP ** 2;
    squaresQ += fromPriorQ ** 2;
  }
  if (Math.min(squaresP, squaresQ) < rounding ** 2) return 0;
  const cosine = product / Math.sqrt(squaresP * squaresQ);
  return Math.abs(cosine) < rounding ? 0 : Math.max(-1, Math.min(1, cosine));
}

/** Mean stances of the labelled claims' posts, with which unlabelled claims are compared. */
export interface StanceReferences {
  /** The mean stance distribution over all posts of all labelled claims, [stances]. */
  readonly prior: Float64Array;
  /** The mean stance distribution over the claims of each veracity, [veracities] of [stances]; null without posts. */
  readonly ofVeracity: readonly (Float64Array | null)[];
}

/**
 * Averages the stance distributions of the labelled claims' posts. Without any post the prior is uniform.
 * @param options.claims the labelled claims, each with the stance distributions of all its posts, [stances] each
 */
export function stanceReferences(options: {
  claims: readonly { readonly veracity: number; readonly stances: readonly ArrayLike<number>[] }[];
  veracities: number;
  stances: number;
}): StanceReferences {
  const { claims, veracities, stances } = options;
  const meanOver = (group: typeof claims) =>
    meanDistribution(
      group.flatMap((claim) => claim.stances),
      stances,
    );
  return {
    prior: meanOver(claims) ?? new Float64Array(stances).fill(1 / stances),
    ofVeracity: Array.from({ length: veracities }, (_, veracity) =>
      meanOver(claims.filter((claim) => claim.veracity === veracity)),
    ),
  };
}

/** The mean of distributions, [classes] each; null without any. */
export function meanDistribution(
  distributions: readonly ArrayLike<number>[],
  classes = distributions[0]?.length ?? 0,
): Float64Array | null {
  if (distributions.length === 0) return null;
  const mean = new Float64Array(classes);
  for (const distribution of distributions)
    for (let index = 0; index < classes; index++) mean[index] += distribution[index] / distributions.length;
  return mean;
}

/**
 * The share of each veracity among the labelled claims, [veracities].
 * @throws InputError without a labelled claim, because the reward compares with labelled claims
 */
export function veracityPrior({ labels, veracities }: { labels: readonly number[]; veracities: number }): Float64Array {
  if (labels.length === 0)
    throw new InputError(
      'no claim has a veracity label, and without one there is no reward: the selector needs seed claims; give threads with veracity, or raise the share of seeds',
    );
  const prior = new Float64Array(veracities);
  for (const label of labels) prior[label] += 1 / labels.length;
  return prior;
}

/**
 * Eq. 4, first case, for a labelled claim: how far the predicted veracity, [veracities], leans towards the true one.
 * @returns in [−1, 1]; its sign is the paper's reward
 */
export function labelledAgreement(options: { predicted: Float64Array; label: number; prior: Float64Array }): number {
  const truth = new Float64Array(options.prior.length);
  truth[options.label] = 1;
  return centredCosine({ p: options.predicted, q: truth, prior: options.prior });
}

/**
 * The predicted probability of the true veracity minus the largest other one. It is positive for a right prediction, so
 * it needs neither prior nor threshold.
 * @param options.predicted [veracities]
 * @returns in [−1, 1]
 */
export function labelledMargin({ predicted, label }: { predicted: Float64Array; label: number }): number {
  return predicted[label] - Math.max(...predicted.filter((_, veracity) => veracity !== label));
}

/**
 * Eq. 4, second case, for an unlabelled claim: the agreement between the stances of its retained posts and those of
 * labelled claims with the predicted veracity.
 * @param options.retained stance distributions of the retained posts, [stances] each
 * @returns in [−1, 1]; 0 if nothing is retained or no labelled claim of that veracity has a post
 */
export function unlabelledAgreement(options: {
  predictedVeracity: number;
  retained: readonly ArrayLike<number>[];
  references: StanceReferences;
  /** False leaves out the prior, as in the paper; then any two distributions agree. */
  isCentred?: boolean;
}): number {
  const { predictedVeracity, retained, references, isCentred = true } = options;
  const reference = references.ofVeracity[predictedVeracity];
  const mean = meanDistribution(retained);
  if (reference === null || mean === null) return 0;
  const prior = isCentred ? references.prior : new Float64Array(mean.length);
  return centredCosine({ p: mean, q: reference, prior });
}

/**
 * Counts consecutive steps of positive reward, this one included. The process ends after a given number of them (§4.4).
 * The paper's rewards are signs, so it counts rewards of +1; a margin or a cosine is hardly ever 1.
 */
export function stepsOfPositiveReward(options: { before: number; reward: number }): number {
  return options.reward > 0 ? options.before + 1 : 0;
}
