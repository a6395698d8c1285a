import {
  labelledAgreement,
  labelledMargin,
  type StanceReferences,
  unlabelledAgreement,
} from '../../envs/selection-env.ts';
import type { TaskPrediction } from '../../experts/task-models/task-model.ts';
import { likeliest } from '../../src/likeliest.ts';
import type { Chooser, PreselectedClaim, Step } from './choice.ts';
import type { SelectorConfig } from './config.ts';
import type { SelectorTraining } from './setup.ts';
import { type StanceOf, showPosts, veracityItem } from './show.ts';

/** Stances by the SD model at the beginning of an epoch. */
export interface Annotations {
  readonly stanceOf: StanceOf;
  readonly references: StanceReferences;
  readonly prior: Float64Array;
}

/** A preselected post and what became of it. */
export interface SelectedPost {
  /** Index among the claims, and among the posts of that claim. */
  readonly claim: number;
  readonly post: number;
  readonly prediction: TaskPrediction;
  readonly retainProbability: number;
  readonly isRetained: boolean;
}

/** A claim after its post level. */
export interface Episode {
  readonly claim: number;
  readonly claimEmbedding: Float32Array;
  readonly steps: readonly Step[];
  readonly rewards: readonly number[];
  readonly posts: readonly SelectedPost[];
  /** The prediction of the RV model from the retained posts. */
  readonly prediction: TaskPrediction;
  /** R; it does not depend on whether the claim is retained. */
  readonly reward: number;
}

/** The post level of a batch of claims: posts are chosen one by one, then the RV model is asked about all claims at once. */
export async function postEpisodes(
  training: SelectorTraining,
  options: { batch: readonly PreselectedClaim[]; annotations: Annotations; choose: Chooser },
): Promise<Episode[]> {
  const { settings } = training;
  const { claims, config, veracityModel } = settings;
  const { batch, annotations, choose } = options;
  const { stanceOf, references, prior } = annotations;
  const shown = await showPosts(settings, { batch, stanceOf, choose });

  // §4.2. The last question of a claim has all its retained posts; most rewards need other sets of them, too.
  const sets = shown.map(({ posts, retained }) => [...otherSets(config.postReward, { posts, retained }), retained]);
  const questions = shown.map(({ claim, retained }, index) =>
    (claims[claim].label === null ? [retained] : sets[index]).map((posts) =>
      veracityItem(settings, { claim, posts, stanceOf }),
    ),
  );
  const answers = await veracityModel.predict(questions.flat());

  let nextAnswer = 0;
  return shown.map(({ claim, posts, claimEmbedding, steps }, index) => {
    const answersOfClaim = answers.slice(nextAnswer, nextAnswer + questions[index].length);
    nextAnswer += answersOfClaim.length;
    const prediction = answersOfClaim[answersOfClaim.length - 1];
    const { label } = claims[claim];
    // Eq. 4
    const rewards = sets[index].map((set, place) => {
      if (label !== null)
        return rewardOfLabelled(answersOfClaim[place].distribution, { label, prior, agreement: config.agreement });
      const agreement = unlabelledAgreement({
        predictedVeracity: likeliest(prediction.distribution),
        retained: set.map((post) => stanceOf(claim, post).distribution),
        references,
        isCentred: config.agreement !== 'raw-sign',
      });
      return config.agreement === 'raw-sign' ? Math.sign(agreement) : agreement;
    });
    return {
      claim,
      claimEmbedding,
      steps,
      prediction,
      reward: rewards[rewards.length - 1],
      rewards: postRewards({ steps, rewards, kind: config.postReward }),
      posts: steps.map((step, place) => ({
        claim,
        post: posts[place],
        prediction: stanceOf(claim, posts[place]),
        retainProbability: step.retainProbability,
        isRetained: step.action === 1,
      })),
    };
  });
}

type PostReward = SelectorConfig['postReward'];

/** The sets of posts that the rewards of steps compare with what was retained. */
function otherSets(
  kind: PostReward,
  { posts, retained }: { posts: Int32Array; retained: readonly number[] },
): readonly (readonly number[])[] {
  if (kind === 'claim') return [];
  if (kind === 'counterfactual') {
    const retainedPosts = new Set(retained);
    return Array.from(posts, (turned) => [...posts].filter((post) => retainedPosts.has(post) !== (post === turned)));
  }
  return retained.map((_, count) => retained.slice(0, count));
}

function rewardOfLabelled(
  predicted: Float64Array,
  options: { label: number; prior: Float64Array; agreement: SelectorConfig['agreement'] },
): number {
  const { label, prior, agreement } = options;
  if (agreement === 'margin') return labelledMargin({ predicted, label });
  if (agreement === 'cosine') return labelledAgreement({ predicted, label, prior });
  return Math.sign(labelledAgreement({ predicted, label, prior: new Float64Array(prior.length) }));
}

/**
 * The reinforcement of each step. Only the end of an episode is rewarded, with R, so the reward-to-go of a step is R less what was
 * reached before it, which no later action changes.
 * @param options.rewards of the claim with each of the other sets, then with what was retained
 */
function postRewards(options: { steps: readonly Step[]; rewards: readonly number[]; kind: PostReward }): number[] {
  const { steps, rewards, kind } = options;
  const reward = rewards[rewards.length - 1];
  if (kind === 'claim') return steps.map(() => reward);
  if (kind === 'counterfactual') return steps.map((_, place) => reward - rewards[place]);
  let retained = 0;
  return steps.map(({ action }) => {
    const before = rewards[retained];
    retained += action;
    return reward - before;
  });
}
