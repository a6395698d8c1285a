import {
  emptyContext,
  labelledAgreement,
  retain,
  type StanceReferences,
  unlabelledAgreement,
} from '../../envs/selection-env.ts';
import { likeliest, type TaskPrediction } from '../../experts/task-models/task-model.ts';
import type { Chooser, PreselectedClaim, Step } from './choice.ts';
import type { SelectorTraining } from './setup.ts';

/** What the SD model said at the beginning of an epoch. */
export interface Annotations {
  /** By claim and post, for the posts that the SD model was asked about. */
  readonly stanceOf: (claim: number, post: number) => TaskPrediction;
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
  /** What the RV model predicts from the retained posts. */
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
  const { claims, config, dimensions, embedTexts, embedExplanations, veracityModel } = settings;
  const { batch, annotations, choose } = options;
  const { stanceOf, references, prior } = annotations;
  const texts = batch.flatMap(({ claim, posts }) => [
    claims[claim].claim,
    ...Array.from(posts, (post) => claims[claim].posts[post]),
  ]);
  const explanations = batch.flatMap(({ claim, posts }) =>
    Array.from(posts, (post) => stanceOf(claim, post).explanation),
  );
  const vectors = await embedAll(embedTexts, texts, dimensions);
  const reasons = await embedAll(embedExplanations, explanations, dimensions);

  let nextVector = 0;
  let nextReason = 0;
  const chosen = batch.map(({ claim, posts }) => {
    const claimEmbedding = vectors[nextVector++];
    const context = emptyContext(dimensions);
    const retained: number[] = [];
    const steps = Array.from(posts, (post) => {
      const embedding = vectors[nextVector++];
      const explanation = reasons[nextReason++];
      const step = choose('posts', {
        place: { claim, post },
        claim: claimEmbedding,
        context,
        explanation,
        prediction: stanceOf(claim, post),
      });
      if (step.action === 1) {
        retain(context, embedding);
        retained.push(post);
      }
      return step;
    });
    return { claim, posts, claimEmbedding, steps, retained };
  });

  // §4.2. The last question of a claim has all its retained posts; `step` and `gain` need those after fewer of them, too.
  const questions = chosen.map(({ claim, retained }) => {
    const { threadId, claim: text, posts, label } = claims[claim];
    const asked = config.postReward !== 'claim' && label !== null ? retained.map((_, count) => count) : [];
    return [...asked, retained.length].map((count) => ({
      threadId,
      claim: text,
      posts: retained
        .slice(0, count)
        .map((post) => ({ text: posts[post], stance: stanceOf(claim, post).distribution })),
    }));
  });
  const answers = await veracityModel.predict(questions.flat());

  let nextAnswer = 0;
  return chosen.map(({ claim, posts, claimEmbedding, steps, retained }, index) => {
    const own = answers.slice(nextAnswer, nextAnswer + questions[index].length);
    nextAnswer += own.length;
    const prediction = own[own.length - 1];
    const { label } = claims[claim];
    const stances = retained.map((post) => stanceOf(claim, post).distribution);
    // Eq. 4, after `count` posts were retained
    const agreement = (count: number) =>
      label === null
        ? unlabelledAgreement({
            predictedVeracity: likeliest(prediction.distribution),
            retained: stances.slice(0, count),
            references,
          })
        : labelledAgreement({ predicted: own[own.length === 1 ? 0 : count].distribution, label, prior });
    const rewardAfter = (count: number) =>
      config.agreement === 'sign' ? Math.sign(agreement(count)) : agreement(count);
    const reward = rewardAfter(retained.length);
    return {
      claim,
      claimEmbedding,
      steps,
      prediction,
      reward,
      rewards: postRewards({ steps, reward, rewardAfter, kind: config.postReward }),
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

function postRewards(options: {
  steps: readonly Step[];
  reward: number;
  rewardAfter: (retained: number) => number;
  kind: 'claim' | 'step' | 'gain';
}): number[] {
  const { steps, reward, rewardAfter, kind } = options;
  if (kind === 'claim') return steps.map(() => reward);
  let retained = 0;
  let before = rewardAfter(0);
  return steps.map(({ action }) => {
    retained += action;
    const after = action === 1 ? rewardAfter(retained) : before;
    const gained = after - before;
    before = after;
    return kind === 'step' ? after : gained;
  });
}

/** One vector for each text. */
export async function embedAll(
  embed: (texts: readonly string[]) => Promise<Float32Array>,
  texts: readonly string[],
  dimensions: number,
): Promise<Float32Array[]> {
  const vectors = texts.length === 0 ? new Float32Array(0) : await embed(texts);
  return texts.map((_, index) => vectors.subarray(index * dimensions, (index + 1) * dimensions));
}
