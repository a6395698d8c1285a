import { InputError } from '../src/errors.ts';
import type { Random } from '../src/tensor/random.ts';

/*
 * The two-level MDP of the selector (JSDRV, §4). A step of the claim level shows a claim, after the steps of its post level,
 * one a pre-selected post. At either level the state tells of the item shown and of those retained before it; the actions
 * are 0 discard and 1 retain; nothing else moves. A policy that retains nothing leaves every context empty, which is sound.
 *
 *   c, x     a claim, a post      ε        share of steps that explore
 *   p, q     distributions        s_i, a_i state and action of step i; R, r rewards of claim and post level
 *
 * Where we differ from the paper:
 *   sgn(cos(p, q)) | two distributions are never at an obtuse angle, so the sign would be +1 for ever | both are centred on
 *   the class prior first: +1 says that p leans from the prior to the side that q leans to
 */

/**
 * Eq. 1. The order in which posts of a claim are shown: with probability 1 − ε the next in time, with ε a uniform one of
 * those left.
 * @returns `min(take, posts)` different indices below `posts`
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
 * Eq. 2. The claims of an epoch: with probability 1 − ε a uniform labelled one, with ε a uniform unlabelled one, each once;
 * where one kind is used up, the other.
 * @returns `min(take, claims)` different indices into `isLabelled`
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
    const [wanted, other] = explores ? [unlabelled, labelled] : [labelled, unlabelled];
    return (wanted.pop() ?? other.pop()) as number;
  });
}

/** What was retained so far at one level. */
export interface RetainedContext {
  readonly sum: Float64Array;
  count: number;
}

export function emptyContext(dimensions: number): RetainedContext {
  return { sum: new Float64Array(dimensions), count: 0 };
}

export function retain(context: RetainedContext, embedding: ArrayLike<number>): void {
  for (let index = 0; index < context.sum.length; index++) context.sum[index] += embedding[index];
  context.count++;
}

/** Numbers of a state: claim, context and explanation, and the distribution where it is shown. */
export function stateSize(options: { dimensions: number; shownClasses: number }): number {
  return 3 * options.dimensions + options.shownClasses;
}

/**
 * §4.3, at either level: `[e(claim); mean e(items retained so far); e(explanation of the item shown)]`, then the item's class
 * distribution where one is given (an extension, off by default). Nothing retained yet: a mean of zeros.
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

/** Below this a cosine, or a distance from the prior, is rounding: a distribution that equals its prior leans to no side. */
const rounding = 1e-9;

/** cos(p − prior, q − prior), in [−1, 1]; 0 where either is the prior itself. */
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

/** Stances of labelled claims, which unlabelled ones are held against. */
export interface StanceReferences {
  /** Mean stance distribution over all posts of all labelled claims. */
  readonly prior: Float64Array;
  /** The same over those of one veracity each; null where no labelled claim of it has a post. */
  readonly ofVeracity: readonly (Float64Array | null)[];
}

/** @param options.claims the labelled ones, each with the stance distributions of all its posts */
export function stanceReferences(options: {
  claims: readonly { readonly veracity: number; readonly stances: readonly ArrayLike<number>[] }[];
  veracities: number;
  stances: number;
}): StanceReferences {
  const { claims, veracities, stances } = options;
  const meanOver = (own: typeof claims) =>
    meanDistribution(
      own.flatMap((claim) => claim.stances),
      stances,
    );
  return {
    prior: meanOver(claims) ?? new Float64Array(stances).fill(1 / stances),
    ofVeracity: Array.from({ length: veracities }, (_, veracity) =>
      meanOver(claims.filter((claim) => claim.veracity === veracity)),
    ),
  };
}

/** Null of none. */
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

/** Shares of the classes among labelled claims. */
export function veracityPrior(options: { labels: readonly number[]; veracities: number }): Float64Array {
  const { labels, veracities } = options;
  if (labels.length === 0)
    throw new InputError(
      'no claim has a veracity label, and without one there is no reward: the selector needs seed claims; give threads with veracity, or raise the share of seeds',
    );
  const prior = new Float64Array(veracities);
  for (const label of labels) prior[label] += 1 / labels.length;
  return prior;
}

/**
 * Eq. 4, first case: how far the predicted veracity leans to the true one.
 * @returns in [−1, 1]; its sign is the paper's reward
 */
export function labelledAgreement(options: { predicted: Float64Array; label: number; prior: Float64Array }): number {
  const truth = new Float64Array(options.prior.length);
  truth[options.label] = 1;
  return centredCosine({ p: options.predicted, q: truth, prior: options.prior });
}

/**
 * Eq. 4, second case: how far the retained posts' stances lean to where those of labelled claims of the predicted veracity do.
 * @returns in [−1, 1]; 0 where nothing is retained, or nothing labelled is of that veracity
 */
export function unlabelledAgreement(options: {
  predictedVeracity: number;
  retained: readonly ArrayLike<number>[];
  references: StanceReferences;
}): number {
  const { predictedVeracity, retained, references } = options;
  const reference = references.ofVeracity[predictedVeracity];
  const mean = meanDistribution(retained);
  if (reference === null || mean === null) return 0;
  return centredCosine({ p: mean, q: reference, prior: references.prior });
}

/** §4.4. The process ends after so many steps of full reward on end. */
export function stepsOfFullReward(options: { before: number; reward: number }): number {
  return options.reward === 1 ? options.before + 1 : 0;
}
