import { type RetainedContext, selectionState } from '../../envs/selection-env.ts';
import { likeliest, type TaskPrediction } from '../../experts/task-models/task-model.ts';
import { retainProbability } from './policy.ts';
import type { Level, SelectorTraining } from './setup.ts';

/** A claim that was preselected for this epoch, and its preselected posts in order; indices. */
export interface PreselectedClaim {
  readonly claim: number;
  readonly posts: Int32Array;
}

/** One step at either level. */
export interface Step {
  /** Null where no policy decided. */
  readonly state: Float32Array | null;
  readonly action: 0 | 1;
  readonly retainProbability: number;
}

/** What a step is decided on. */
interface ChoiceInput {
  /** Index among the claims, and of the post among those of the claim. */
  readonly place: { readonly claim: number; readonly post?: number };
  readonly claim: Float32Array;
  readonly context: RetainedContext;
  readonly explanation: Float32Array;
  readonly prediction: TaskPrediction;
}
export type Chooser = (level: Level, input: ChoiceInput) => Step;

/** Eq. 3, or what a baseline does instead: retain everything, as many random items as another selection, or what is right. */
export function chooser(training: SelectorTraining, preselected: readonly PreselectedClaim[]): Chooser {
  const { settings, policies, random, epoch } = training;
  const { config, randomOfSize, oracle } = settings;
  if (oracle !== undefined)
    return (_, { place: { claim, post }, prediction }) => {
      const hidden = post === undefined ? oracle.veracityOf(claim) : oracle.stanceOf(claim, post);
      const isHuman = post === undefined && settings.claims[claim].label !== null;
      const isRight = isHuman || hidden < 0 || hidden === likeliest(prediction.distribution);
      return { state: null, action: isRight ? 1 : 0, retainProbability: 1 };
    };
  if (randomOfSize !== undefined) {
    const { posts, claims } = randomOfSize[epoch];
    const drawn = {
      posts: randomActions(random.permutation(preselected.reduce((sum, own) => sum + own.posts.length, 0)), posts),
      claims: randomActions(random.permutation(preselected.length), claims),
    };
    return (level) => {
      const { value } = drawn[level].next();
      return { state: null, action: value ? 1 : 0, retainProbability: 1 };
    };
  }
  return (level, { claim, context, explanation, prediction }) => {
    if (config.retain[level] === 'all') return { state: null, action: 1, retainProbability: 1 };
    const state = selectionState({
      claim,
      context,
      explanation,
      ...(config.showDistribution && { distribution: prediction.distribution }),
    });
    const probability = retainProbability(policies[level], state);
    return { state, action: random.uniform() < probability ? 1 : 0, retainProbability: probability };
  };
}

function randomActions(permutation: Int32Array, retained: number): Iterator<boolean> {
  return Array.from(permutation, (place) => place < retained).values();
}
