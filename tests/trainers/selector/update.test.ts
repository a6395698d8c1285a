import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { emptyContext, retain, selectionState } from '../../../envs/selection-env.ts';
import type { TaskPrediction } from '../../../experts/task-models/task-model.ts';
import { likeliest } from '../../../src/likeliest.ts';
import { Random } from '../../../src/tensor/random.ts';
import { workContext } from '../../../src/work-context.ts';
import type { selectorSchema } from '../../../trainers/selector/config.ts';
import { createSelector, type EpochSelection } from '../../../trainers/selector/jsdrv.ts';
import { retainProbability, type SelectorPolicy } from '../../../trainers/selector/policy.ts';
import { levels, type SelectorTraining } from '../../../trainers/selector/setup.ts';
import { trainToEnd } from '../../../trainers/trainer.ts';
import { createScene, sceneClaims, sceneDimensions, sceneEmbedding } from './scripted-task-models.ts';
import { trainEpochs } from './train-epochs.ts';

/*
 * One epoch of one update, seen from outside: from what was retained, the test rebuilds states and rewards, and holds Adam's
 * first moments (a tenth of the gradient) against finite differences of the objective with those actions.
 */

interface RebuiltStep {
  readonly state: Float32Array;
  readonly action: 0 | 1;
  readonly reward: number;
}
interface RebuiltEpisode {
  /** With what each action would have earned. */
  readonly claim: RebuiltStep & { readonly earned: readonly [number, number] };
  readonly posts: readonly (RebuiltStep & { readonly earned: readonly [number, number] })[];
}
type Config = z.input<typeof selectorSchema>;

/** Away from zero, where a linear policy's gradient would not depend on much. */
function stir(training: SelectorTraining): void {
  const random = Random.seeded({ seed: training.settings.seed, purpose: 'stir' });
  for (const level of levels)
    for (const index of training.policies[level].parameters.keys())
      training.policies[level].parameters[index] = 0.5 * random.normal();
}

/** Of labelled claims of each veracity, by the number of posts retained, worked out by hand for the scene. */
const cosines = [
  [-0.5, -0.5, 1],
  [0.5, 0.5, -1],
  [1, -0.5, -0.5],
  [-0.5, 1, -0.5],
  [-1, 0.5, 0.5],
];
const margins = [
  [-1, -1, 1],
  [0, 0, -0.5],
  [1, -1, -1],
  [-1, 1, -1],
  [-0.5, 0, 0],
];

/** Eq. 4 after these posts were retained. */
function agreementAfter(
  claim: number,
  { retained, all, agreement }: { retained: readonly number[]; all: number; agreement: Config['agreement'] },
): number {
  const { label } = sceneClaims[claim];
  if (label !== null) return (agreement === 'margin' ? margins : cosines)[retained.length][label];
  if (retained.length === 0) return 0;
  // With so many posts the claim is said to be of this veracity, whose reference leans to the stance of that number.
  const reference = [2, 0, 0, 1, 1][all];
  const centred = [0, 1, 2].map(
    (stance) => retained.filter((post) => [0, 1, 0, 2][post] === stance).length / retained.length - 1 / 3,
  );
  const length = Math.hypot(...centred);
  return length < 1e-9 ? 0 : centred[reference] / length / Math.sqrt(2 / 3);
}

const stances = ['support', 'deny', 'comment'];
const veracities = ['non-rumor', 'true', 'false'];
const labelOf = ({ distribution }: TaskPrediction, classes: readonly string[]) => classes[likeliest(distribution)];

function rebuild(selection: EpochSelection, config: Config): RebuiltEpisode[] {
  const { agreement = 'margin', postReward = 'claim', discardedClaim = 'negated', showDistribution = false } = config;
  const claimContext = emptyContext(sceneDimensions);
  return selection.claims.map((shown) => {
    const claim = sceneEmbedding(sceneClaims[shown.claim].claim);
    const context = emptyContext(sceneDimensions);
    const own = selection.posts.filter((post) => post.claim === shown.claim);
    const all = own.filter(({ isRetained }) => isRetained).length;
    const rewardOf = (retained: readonly number[]) => agreementAfter(shown.claim, { retained, all, agreement });
    const retained: number[] = [];
    const steps = own.map(({ post, isRetained, prediction }) => {
      const state = selectionState({
        claim,
        context,
        explanation: sceneEmbedding(
          `${labelOf(prediction, stances)}: because of ${sceneClaims[shown.claim].posts[post]}`,
        ),
        ...(showDistribution && { distribution: prediction.distribution }),
      });
      const before = rewardOf(retained);
      if (isRetained) {
        retained.push(post);
        retain(context, sceneEmbedding(sceneClaims[shown.claim].posts[post]));
      }
      return { post, state, isRetained, before };
    });
    const reward = rewardOf(retained);
    expect(shown.reward).toBeCloseTo(reward, 12);
    const claimState = selectionState({
      claim,
      context: claimContext,
      explanation: sceneEmbedding(`${labelOf(shown.prediction, veracities)}: ${'abcd'[shown.claim]} has ${all} posts`),
      ...(showDistribution && { distribution: shown.prediction.distribution }),
    });
    if (shown.isRetained) retain(claimContext, claim);
    const whenDiscarded = { same: reward, negated: -reward }[discardedClaim];
    return {
      claim: {
        state: claimState,
        action: shown.isRetained ? 1 : 0,
        reward: shown.isRetained ? reward : whenDiscarded,
        earned: [whenDiscarded, reward],
      },
      posts: steps.map(({ post, state, isRetained, before }) => {
        const otherwise = rewardOf(turned(retained, post));
        const rewards = { claim: reward, 'reward-to-go': reward - before, counterfactual: reward - otherwise };
        return {
          state,
          action: isRetained ? 1 : 0,
          reward: rewards[postReward],
          earned: isRetained ? [otherwise, reward] : [reward, otherwise],
        };
      }),
    };
  });
}

/** The posts that would be retained if this one were treated the other way; their order does not matter here. */
const turned = (retained: readonly number[], post: number) =>
  retained.includes(post) ? retained.filter((other) => other !== post) : [...retained, post];

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
const mean = (values: readonly number[]) => (values.length === 0 ? 0 : sum(values) / values.length);

function credit(policy: SelectorPolicy, step: RebuiltStep, baseline: number): number {
  const probability = retainProbability(policy, step.state);
  return (step.reward - baseline) * Math.log(step.action === 1 ? probability : 1 - probability);
}

/** What a step earns on average over its actions. */
function expectation(policy: SelectorPolicy, { state, earned }: RebuiltEpisode['claim']): number {
  const probability = retainProbability(policy, state);
  return probability * earned[1] + (1 - probability) * earned[0];
}

function objective(
  training: SelectorTraining,
  episodes: readonly RebuiltEpisode[],
  baselines = { posts: 0, claims: 0 },
) {
  const { policies, settings } = training;
  const isExact = settings.config.claimGradient === 'exact';
  const isCounterfactual = settings.config.postReward === 'counterfactual';
  return mean(
    episodes.map(
      ({ claim, posts }) =>
        (isExact ? expectation(policies.claims, claim) : credit(policies.claims, claim, baselines.claims)) +
        mean(
          posts.map((step) =>
            isCounterfactual ? expectation(policies.posts, step) : credit(policies.posts, step, baselines.posts),
          ),
        ),
    ),
  );
}

/** Trains one epoch and holds the update against the objective's slope. */
async function oneUpdate(options: { config: Config; seed: number; baselines?: { posts: number; claims: number } }) {
  const { seed, baselines } = options;
  const fixed = { epochs: 1, batchClaims: 4, stopAfterFullRewards: null } as const;
  const config: Config = { claimGradient: 'sampled', ...options.config, ...fixed };
  const { settings } = createScene({ config, seed });
  const trainer = createSelector(settings);
  const { training } = trainer;
  const before = createSelector(settings).training;
  stir(training);
  stir(before);
  for (const level of levels) Object.assign(training.rewards[level], { mean: baselines?.[level] ?? 0, count: 4 });
  const [selection] = await trainEpochs(trainer);
  const episodes = rebuild(selection, config);
  const width = 1e-5;
  for (const level of levels) {
    const { parameters } = before.policies[level];
    expect(training.policies[level].updates).toBe(1);
    for (const [index, value] of parameters.entries()) {
      parameters[index] = value + width;
      const above = objective(before, episodes, config.baseline === 'running-mean' ? baselines : undefined);
      parameters[index] = value - width;
      const below = objective(before, episodes, config.baseline === 'running-mean' ? baselines : undefined);
      parameters[index] = value;
      expect(10 * training.policies[level].firstMoments[index]).toBeCloseTo((above - below) / (2 * width), 7);
    }
  }
  return { training, before, selection, episodes };
}

describe('the update climbs mean over claims of R log π(A, S) + mean_j r_j log π(a_j, s_j)', () => {
  const kinds = (['claim', 'reward-to-go', 'counterfactual'] as const).flatMap((postReward) =>
    (['cosine', 'margin'] as const).flatMap((agreement) =>
      (['same', 'negated'] as const).map((discardedClaim) => ({ postReward, agreement, discardedClaim })),
    ),
  );
  it.each(kinds)('with post reward $postReward, $agreement, discarded claims $discardedClaim', async (kind) => {
    const rewards = new Set<number>();
    const actions = new Set<number>();
    for (const seed of [1, 2, 3]) {
      const { episodes, selection } = await oneUpdate({ config: kind, seed });
      for (const { claim, posts } of episodes) {
        actions.add(claim.action);
        for (const { reward } of posts) rewards.add(reward);
      }
      expect(selection.meanPostReward).toBeCloseTo(
        mean(episodes.flatMap(({ posts }) => posts.map((p) => p.reward))),
        12,
      );
    }
    expect([...actions].sort()).toEqual([0, 1]);
    expect(rewards.size).toBeGreaterThan(2);
  });

  it.each<[string, Config]>([
    ['distributions in the states', { showDistribution: true }],
    ['some of the claims, and of their posts', { claimsPerEpoch: 2, postsPerClaim: 2, epsilon: { posts: 1 } }],
    ['one claim', { claimsPerEpoch: 1, postReward: 'reward-to-go', agreement: 'cosine' }],
    ['every claim and every post shown', { preselect: { claims: false, posts: false } }],
  ])('with %s', async (_, config) => {
    for (const seed of [4, 5]) await oneUpdate({ config, seed });
  });

  it.each(['same', 'negated'] as const)('with the expectation over both actions, discarded claims %s', async (of) => {
    await oneUpdate({ config: { claimGradient: 'exact', discardedClaim: of, baseline: 'running-mean' }, seed: 10 });
  });

  it('less a baseline: the running mean of before the update', async () => {
    const baselines = { posts: 0.25, claims: -0.5 };
    for (const postReward of ['claim', 'reward-to-go'] as const) {
      const { training, episodes } = await oneUpdate({
        config: { baseline: 'running-mean', agreement: 'cosine', postReward },
        seed: 6,
        baselines,
      });
      const rewards = {
        posts: episodes.flatMap(({ posts }) => posts.map(({ reward }) => reward)),
        claims: episodes.map(({ claim }) => claim.reward),
      };
      for (const level of levels) {
        // Four rewards were counted before.
        const count = 4 + rewards[level].length;
        expect(training.rewards[level].count).toBe(count);
        expect(training.rewards[level].mean).toBeCloseTo((4 * baselines[level] + sum(rewards[level])) / count, 12);
      }
    }
  });

  it('ignores the running mean without a baseline', async () => {
    await oneUpdate({ config: {}, seed: 7, baselines: { posts: 0.25, claims: -0.5 } });
  });

  it('acts on the states of §4.3: claim, mean of what was retained before, explanation', async () => {
    const { before, selection, episodes } = await oneUpdate({ config: {}, seed: 9 });
    const steps = episodes.flatMap(({ posts }) => posts);
    for (const [index, { retainProbability: recorded }] of selection.posts.entries())
      expect(recorded).toBe(retainProbability(before.policies.posts, steps[index].state));
    for (const [index, { retainProbability: recorded }] of selection.claims.entries())
      expect(recorded).toBe(retainProbability(before.policies.claims, episodes[index].claim.state));
  });
});

describe('the learning rate', () => {
  /** Adam's first step is the learning rate itself, wherever there is a slope. */
  async function firstWeightAfterEachUpdate(config: Config): Promise<number[]> {
    const { settings } = createScene({
      config: { ...config, agreement: 'cosine', retain: { posts: 'all' }, stopAfterFullRewards: null },
    });
    const trainer = createSelector(settings);
    const weights: number[] = [];
    const { parameters } = trainer.training.policies.claims;
    await trainToEnd(trainer, workContext({ onProgress: () => void weights.push(parameters[0]) }));
    return weights;
  }

  it('rises over the warm-up share of all updates', async () => {
    // 10 epochs of 4 updates, half of them warm-up: the first takes 1/20.
    const [first] = await firstWeightAfterEachUpdate({ epochs: 10, batchClaims: 1, warmup: 0.5, learningRate: 0.2 });
    expect(Math.abs(first)).toBeCloseTo(0.2 / 20, 6);
    const [unwarmed] = await firstWeightAfterEachUpdate({ epochs: 10, batchClaims: 1, warmup: 0, learningRate: 0.2 });
    expect(Math.abs(unwarmed)).toBeCloseTo(0.2, 6);
  });

  it('never exceeds what is set, even where the warm-up is shorter than an update', async () => {
    const [only] = await firstWeightAfterEachUpdate({ epochs: 1, batchClaims: 100, warmup: 0.1, learningRate: 0.2 });
    expect(Math.abs(only)).toBeCloseTo(0.2, 6);
  });

  it('is for as many updates as there are batches, the last one smaller', async () => {
    expect(await firstWeightAfterEachUpdate({ epochs: 3, batchClaims: 3 })).toHaveLength(6);
  });
});
