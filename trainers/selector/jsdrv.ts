import {
  emptyContext,
  meanDistribution,
  preselectClaims,
  preselectPosts,
  stanceReferences,
  stepsOfPositiveReward,
  veracityPrior,
} from '../../envs/selection-env.ts';
import type { Example, TaskPrediction, VeracityItem } from '../../experts/task-models/task-model.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { likeliest } from '../../src/likeliest.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { Trainer } from '../trainer.ts';
import { restoreSelector, selectorState } from './checkpoint.ts';
import { chooser, countRetention, type PreselectedClaim } from './choice.ts';
import { type Annotations, postEpisodes, type SelectedPost } from './episode.ts';
import type { SelectorPolicy } from './policy.ts';
import {
  createSelectorTraining,
  type Level,
  type SelectorSettings,
  type SelectorTraining,
  stanceItem,
} from './setup.ts';
import { showClaims, veracityItem } from './show.ts';
import { updatePolicies } from './update.ts';

/*
 * JSDRV (Algorithm 1): reinforcement tuning for stance detection (SD) and rumour verification (RV).
 *
 *   C_l, C_u   claims with and without a veracity label      π, θ       policies of claim and post level (Eq. 3)
 *   S, A, R    state, action, reward of claim level          s, a, r    the same of post level
 *   ε          share of exploration in pre-selection (Eq. 1, Eq. 2)
 *
 *   point               paper                           here
 *   policies            one π_θ (§4.4); "two versions"  two, of the same form, with weights of their own
 *                       (§4.3)
 *   update              after each claim (§4.4), of     after `batchClaims` claims, of their mean; 4 by default
 *                       the running mean; in batches
 *                       of 4 (Appendix C)
 *   embeddings          RoBERTa                         any encoder; hashed n-grams by default, in jsdrv-paper.yaml too
 *   reward of a claim   R log π(A), whatever A is       −R for discarding (`discardedClaim: negated`): R does not depend on
 *                                                       A, so the paper's expected gradient is R Σ_A π ∇ log π = 0
 *                                                       The expectation over A is exact, unless `claimGradient: sampled`
 *   agreement           sgn(cos) of two distributions   +1 for any two (`agreement: raw-sign`). By default, of labelled claims the
 *                                                       margin by which the true veracity leads; cosine and sign are of
 *                                                       distributions centred on their priors: see envs/selection-env.ts
 *   reward of an        agreement with the stances of   the same, or none (`unlabelledReward`): the agreement is as high where a
 *   unlabelled claim    the predicted veracity          wrong veracity follows the stances
 *   reward of a post    Eq. 4, as for claims            `postReward`: that of its claim (one RV question for each claim), less
 *                                                       what was reached before this post (reward-to-go), or the expectation
 *                                                       over both actions on it
 *   explanation         of an LLM, naming its label     the label, then the reason (`explanation`)
 *   labels of C_l       their own                       the same, but predicted by an RV model that was not tuned on them: one
 *                                                       that remembers its examples would earn +1 everywhere
 *   posts of a          not said                        tune the SD model if the post level retained them
 *   discarded claim
 *   posts of a thread   those responding to the claim   its replies; the source is the claim itself and has no stance here
 *
 * There is no working published code to compare with. Our text of the paper has lost Eq. 1 to 4 and the lines of Algorithm 1: they are
 * read from the sentences around them.
 */

export interface SelectedClaim {
  readonly claim: number;
  readonly prediction: TaskPrediction;
  readonly retainProbability: number;
  readonly isRetained: boolean;
  readonly reward: number;
}

export interface EpochSelection {
  readonly epoch: number;
  readonly posts: readonly SelectedPost[];
  readonly claims: readonly SelectedClaim[];
  readonly meanPostReward: number;
}

/** Both levels of a selector that has learnt: plain arrays. */
export type SelectorPolicies = Readonly<Record<Level, SelectorPolicy>>;

/** A selector in training. */
export interface SelectorTrainer extends Trainer<SelectorPolicies> {
  /** Policies, task models and counters as they stand. */
  readonly training: SelectorTraining;
  /** Items shown and retained in the last epoch; null before the first. */
  readonly selection: EpochSelection | null;
}

/**
 * JSDRV as a trainer; one iteration is one epoch. Pretraining belongs to the first.
 * @throws InputError where nothing could be learnt: no labelled claim, or an id that stands there twice
 */
export function createSelector(settings: SelectorSettings): SelectorTrainer {
  const training = createSelectorTraining(settings);
  const { config, matchedRandomControl, claims, stanceModel, veracityModel } = settings;
  const epochs = Math.min(config.epochs, matchedRandomControl?.epochs.length ?? config.epochs);
  let selection: EpochSelection | null = null;
  return {
    algorithm: 'selector',
    training,
    get selection() {
      return selection;
    },
    get iteration() {
      return training.epoch;
    },
    get iterations() {
      return training.isTerminated ? training.epoch : epochs;
    },
    /** Algorithm 1, one epoch. */
    async iterate(context) {
      context.signal.throwIfAborted();
      if (training.epoch === 0) await pretrainTaskModels(settings);
      const shown = preselect(training);
      const annotations = await annotateStances(training, shown);
      selection = await selectAndLearn(training, { shown, annotations, context });
      await tuneTaskModels(training, { selection, annotations });
      training.epoch++;
      training.retention.push({
        posts: countRetention(selection.posts, { classes: stanceModel.classes.length, claims }),
        claims: countRetention(selection.claims, { classes: veracityModel.classes.length, claims }),
      });
      return {
        'reward/posts': selection.meanPostReward,
        'reward/claims': mean(selection.claims.map(({ reward }) => reward)),
        'retained/posts': retainedOf(selection.posts) / Math.max(1, selection.posts.length),
        'retained/claims': retainedOf(selection.claims) / Math.max(1, selection.claims.length),
      };
    },
    async policy() {
      const copyOf = (policy: SelectorPolicy) => ({ ...policy, parameters: policy.parameters.slice() });
      return { posts: copyOf(training.policies.posts), claims: copyOf(training.policies.claims) };
    },
    state: async () => selectorState(training),
    restore: (state) => restoreSelector(training, state),
    dispose() {},
  };
}

/** §4.1 and §4.2, Pretraining: SD on another stance data set, RV on the labelled claims, whose posts have no stances yet. */
export async function pretrainTaskModels(settings: SelectorSettings): Promise<void> {
  const { claims, stanceModel, veracityModel, stancePretraining, config } = settings;
  if (config.pretrain.stance && stancePretraining.length > 0) await stanceModel.pretrain(stancePretraining);
  if (!config.pretrain.veracity) return;
  await veracityModel.pretrain(
    claims.flatMap(({ threadId, claim, posts, label }): Example<VeracityItem>[] =>
      label === null
        ? []
        : [
            {
              item: { threadId, claim, posts: posts.map((text) => ({ text, stance: null })) },
              label,
              explanation: '',
            },
          ],
    ),
  );
}

/** Eq. 1 and Eq. 2. */
function preselect({ settings, random }: SelectorTraining): PreselectedClaim[] {
  const { claims, config } = settings;
  const { epsilon, claimsPerEpoch, postsPerClaim } = config;
  const order = config.preselect.claims
    ? preselectClaims({
        isLabelled: claims.map(({ label }) => label !== null),
        take: claimsPerEpoch ?? claims.length,
        epsilon: epsilon.claims,
        random,
      })
    : random.permutation(claims.length);
  return Array.from(order, (claim) => {
    const posts = claims[claim].posts.length;
    const take = config.preselect.posts ? (postsPerClaim ?? posts) : posts;
    return {
      claim,
      posts: preselectPosts({ posts, take, epsilon: config.preselect.posts ? epsilon.posts : 0, random }),
    };
  });
}

/** §4.1: the SD model labels what was pre-selected, and the posts of labelled claims that rewards are measured against. */
async function annotateStances(
  { settings }: SelectorTraining,
  shown: readonly PreselectedClaim[],
): Promise<Annotations> {
  const { claims, config, stanceModel, veracityModel } = settings;
  const chosenPosts = claims.map(() => new Set<number>());
  for (const { claim, posts } of shown) for (const post of posts) chosenPosts[claim].add(post);
  if (config.references === 'all-posts')
    for (const [claim, { label, posts }] of claims.entries())
      if (label !== null) for (const post of posts.keys()) chosenPosts[claim].add(post);
  const places = chosenPosts.flatMap((posts, claim) => Array.from(posts, (post) => ({ claim, post })));
  const predictions = await stanceModel.predict(places.map(({ claim, post }) => stanceItem(claims[claim], post)));
  const byClaim = claims.map(() => new Map<number, TaskPrediction>());
  for (const [index, { claim, post }] of places.entries()) byClaim[claim].set(post, predictions[index]);
  const labelled = claims.flatMap(({ label }, claim) =>
    label === null
      ? []
      : [{ veracity: label, stances: [...byClaim[claim].values()].map(({ distribution }) => distribution) }],
  );
  const veracities = veracityModel.classes.length;
  return {
    stanceOf: (claim, post) => byClaim[claim].get(post) as TaskPrediction,
    references: stanceReferences({ claims: labelled, veracities, stances: stanceModel.classes.length }),
    prior: veracityPrior({ labels: labelled.map(({ veracity }) => veracity), veracities }),
  };
}

/** The loop of Algorithm 1: claim after claim and post after post, an update every few claims. */
async function selectAndLearn(
  training: SelectorTraining,
  options: {
    shown: readonly PreselectedClaim[];
    annotations: Annotations;
    context: WorkContext;
  },
): Promise<EpochSelection> {
  const { settings, epoch } = training;
  const { config } = settings;
  const { shown, annotations, context } = options;
  const choose = chooser(training, shown);
  const whenDiscarded: 1 | -1 = config.discardedClaim === 'same' ? 1 : -1;
  const claimContext = emptyContext(settings.dimensions);
  const posts: SelectedPost[] = [];
  const claims: SelectedClaim[] = [];
  const postRewards: number[] = [];
  for (let start = 0; start < shown.length && !training.isTerminated; start += config.batchClaims) {
    context.signal.throwIfAborted();
    const batch = shown.slice(start, start + config.batchClaims);
    const episodes = await postEpisodes(training, { batch, annotations, choose });
    const claimSteps = await showClaims(settings, { batch: episodes, context: claimContext, choose });
    const learnt = episodes.flatMap((episode, index) => {
      const { prediction } = episode;
      const step = claimSteps[index];
      const { reward } = episode;
      training.fullRewards = stepsOfPositiveReward({ before: training.fullRewards, reward });
      if (config.stopAfterFullRewards !== null && training.fullRewards >= config.stopAfterFullRewards)
        training.isTerminated = true;
      claims.push({
        claim: episode.claim,
        prediction,
        retainProbability: step.retainProbability,
        isRetained: step.action === 1,
        reward,
      });
      posts.push(...episode.posts);
      postRewards.push(...episode.rewards);
      const { steps, rewards } = episode;
      const isTaught = config.unlabelledReward === 'stances' || settings.claims[episode.claim].label !== null;
      return isTaught ? [{ steps, rewards, step, reward, whenDiscarded }] : [];
    });
    updatePolicies(training, { learnt, updatesAnEpoch: Math.ceil(shown.length / config.batchClaims) });
    context.onProgress(`selecting, epoch ${epoch + 1}`, Math.min(start + batch.length, shown.length), shown.length);
  }
  return { epoch, posts, claims, meanPostReward: mean(postRewards) };
}

/** §4.4: once an epoch, on what was retained. The surest come first, for models that can use only a few examples. */
async function tuneTaskModels(
  { settings }: SelectorTraining,
  { selection, annotations }: { selection: EpochSelection; annotations: Annotations },
): Promise<void> {
  const { claims, config, stanceModel, veracityModel } = settings;
  const bySurety = <T extends { retainProbability: number }>(items: readonly T[]) =>
    items.toSorted((one, other) => other.retainProbability - one.retainProbability);
  const retained = selection.posts.filter(({ isRetained }) => isRetained);
  if (config.tune.stance)
    await stanceModel.tune(
      bySurety(retained).map(({ prediction, claim, post }) => ({
        item: stanceItem(claims[claim], post),
        label: likeliest(prediction.distribution),
        explanation: prediction.explanation,
      })),
    );
  if (!config.tune.veracity) return;
  const postsOf = groupBy(retained, ({ claim }) => claim);
  const taught = selection.claims.filter(
    ({ claim, isRetained }) => isRetained || (config.labelledClaims === 'always' && claims[claim].label !== null),
  );
  await veracityModel.tune(
    bySurety(taught).map(({ claim, prediction }) => {
      const machine = likeliest(prediction.distribution);
      const label = claims[claim].label ?? machine;
      const posts = (postsOf.get(claim) ?? []).map(({ post }) => post);
      return {
        item: veracityItem(settings, { claim, posts, stanceOf: annotations.stanceOf }),
        label,
        // An explanation of another label would teach the wrong thing.
        explanation: label === machine ? prediction.explanation : '',
      };
    }),
  );
}

function retainedOf(items: readonly { readonly isRetained: boolean }[]): number {
  return items.filter(({ isRetained }) => isRetained).length;
}

function mean(values: readonly number[]): number {
  return meanDistribution(values.map((value) => [value]))?.[0] ?? 0;
}
