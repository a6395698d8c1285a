import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { selectionState, stanceReferences } from '../../../envs/selection-env.ts';
import { workContext } from '../../../src/work-context.ts';
import type { Chooser, Step } from '../../../trainers/selector/choice.ts';
import type { selectorSchema } from '../../../trainers/selector/config.ts';
import { postEpisodes } from '../../../trainers/selector/episode.ts';
import { createSelector } from '../../../trainers/selector/jsdrv.ts';
import { retainProbability } from '../../../trainers/selector/policy.ts';
import { updatePolicies } from '../../../trainers/selector/update.ts';
import { createScene, leaning, sceneClaim, sceneDimensions } from './scripted-task-models.ts';

type Config = z.input<typeof selectorSchema>;

/** One claim with two posts that help only together: each alone makes the prediction worse. */
const marginWith = [0, -0.25, 1];
const claims = [sceneClaim('e', { label: 0, stances: [0, 1] })];

function scene(config: Config) {
  const { settings } = createScene({
    claims,
    config: { ...config, agreement: 'margin' },
    veracityOf: ({ posts }) => {
      const margin = marginWith[posts.length];
      return [(1 + margin) / 2, (1 - margin) / 2, 0];
    },
  });
  return settings;
}

/** What the policy of posts starts from; the mean of what was retained before has weights of its own. */
const start = (knowsContext: boolean) =>
  Float64Array.from({ length: 3 * sceneDimensions + 1 }, (_, index) => {
    const isOfContext = index >= sceneDimensions && index < 2 * sceneDimensions;
    return isOfContext && !knowsContext ? 0 : Math.cos(index + 1) / 2;
  });

/** The claim's posts with these actions: how likely they are, what they earn, and the gradient of an update by them. */
async function episodeWith(actions: readonly (0 | 1)[], { config, from }: { config: Config; from: Float64Array }) {
  const { training } = createSelector(scene(config));
  const policy = training.policies.posts;
  policy.parameters.set(from);
  let place = 0;
  let probability = 1;
  const choose: Chooser = (_, { claim, context, explanation }): Step => {
    const state = selectionState({ claim, context, explanation });
    const own = retainProbability(policy, state);
    const action = actions[place++];
    probability *= action === 1 ? own : 1 - own;
    return { state, action, retainProbability: own };
  };
  const [episode] = await postEpisodes(training, {
    batch: [{ claim: 0, posts: Int32Array.of(0, 1) }],
    annotations: {
      stanceOf: (_, post) => ({ distribution: leaning(post, { classes: 3 }), explanation: `because of ${post}` }),
      references: stanceReferences({ claims: [], veracities: 3, stances: 3 }),
      prior: Float64Array.of(1, 0, 0),
    },
    choose,
  });
  const { steps, rewards, reward } = episode;
  const step = { state: null, action: 1, retainProbability: 1 } as const;
  updatePolicies(training, { learnt: [{ steps, rewards, step, reward: 0, whenDiscarded: -1 }], updatesAnEpoch: 1 });
  // Adam's first moments are a tenth of the gradient.
  return { probability, reward, gradient: policy.firstMoments.map((moment) => 10 * moment) };
}

const everyChoice = [0, 1].flatMap((first) => [0, 1].map((second) => [first, second] as (0 | 1)[]));

async function expectedReward(options: { config: Config; from: Float64Array }): Promise<number> {
  const episodes = await Promise.all(everyChoice.map((actions) => episodeWith(actions, options)));
  return episodes.reduce((sum, { probability, reward }) => sum + probability * reward, 0);
}

/** Of the expected reward, by finite differences, over two posts: §4.4 takes the mean over posts. */
async function trueGradient(options: { config: Config; from: Float64Array }): Promise<number[]> {
  const width = 1e-5;
  const slopes: number[] = [];
  for (const index of options.from.keys()) {
    const moved = (by: number) => options.from.map((value, place) => (place === index ? value + by : value));
    const above = await expectedReward({ ...options, from: moved(width) });
    const below = await expectedReward({ ...options, from: moved(-width) });
    slopes.push((above - below) / (2 * width) / 2);
  }
  return slopes;
}

async function expectedGradient(options: { config: Config; from: Float64Array }): Promise<number[]> {
  const episodes = await Promise.all(everyChoice.map((actions) => episodeWith(actions, options)));
  return Array.from(options.from, (_, index) =>
    episodes.reduce((sum, { probability, gradient }) => sum + probability * gradient[index], 0),
  );
}

describe('over every choice among two posts that help only together, the mean update is the gradient', () => {
  it.each([
    ['claim', true],
    ['reward-to-go', true],
    // Turns one action round and leaves later ones as they were, so it is exact where they do not depend on it.
    ['counterfactual', false],
  ] as const)('with postReward: %s', async (postReward, knowsContext) => {
    const options = { config: { postReward }, from: start(knowsContext) };
    const [mean, exact] = [await expectedGradient(options), await trueGradient(options)];
    expect(Math.max(...exact.map(Math.abs))).toBeGreaterThan(0.02);
    for (const [index, slope] of exact.entries()) expect(mean[index]).toBeCloseTo(slope, 6);
  });
});

describe('the paper to the letter', () => {
  it('rewards every claim with +1, ends after so many of them, and has learnt nothing about claims', async () => {
    const labelled = Array.from({ length: 12 }, (_, index) =>
      sceneClaim(`c${index}`, { label: index % 3, stances: [index % 3] }),
    );
    const { settings } = createScene({
      claims: labelled,
      config: {
        agreement: 'raw-sign',
        claimGradient: 'sampled',
        discardedClaim: 'same',
        batchClaims: 1,
        stopAfterFullRewards: 10,
      },
      // Wrong of two claims in three, but no class is ruled out.
      veracityOf: () => [0.9, 0.05, 0.05],
    });
    const trainer = createSelector(settings);
    await trainer.iterate(workContext());
    expect(trainer.selection?.claims.map(({ reward }) => reward)).toEqual(Array(10).fill(1));
    expect(trainer.training).toMatchObject({ isTerminated: true, epoch: 1 });
  });
});
