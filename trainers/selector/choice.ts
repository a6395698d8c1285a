import { type RetainedContext, selectionState } from '../../envs/selection-env.ts';
import type { TaskPrediction } from '../../experts/task-models/task-model.ts';
import { likeliest } from '../../src/likeliest.ts';
import type { SelectorConfig } from './config.ts';
import { retainProbability } from './policy.ts';
import type { Level, SelectorClaim, SelectorTraining, Stratum } from './setup.ts';

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

/** The basis of a step's decision. */
interface ChoiceInput {
  /** Index among the claims, and of the post among those of the claim. */
  readonly place: { readonly claim: number; readonly post?: number };
  readonly claim: Float32Array;
  readonly context: RetainedContext;
  readonly explanation: Float32Array;
  readonly prediction: TaskPrediction;
}
export type Chooser = (level: Level, input: ChoiceInput) => Step;

/** Eq. 3, or what a control does instead: retain random items as a selection did, or what is right. */
export function chooser(training: SelectorTraining, preselected: readonly PreselectedClaim[]): Chooser {
  const { settings, policies, random, epoch } = training;
  const { config, matchedRandomControl, oracleControl, claims } = settings;
  if (oracleControl !== undefined)
    return (_, { place: { claim, post }, prediction }) => {
      const hidden = post === undefined ? oracleControl.veracityOf(claim) : oracleControl.stanceOf(claim, post);
      const isHuman = post === undefined && claims[claim].label !== null;
      return decided(isHuman || hidden < 0 || hidden === likeliest(prediction.distribution));
    };
  if (matchedRandomControl?.alikeIn === 'size') {
    const retained = matchedRandomControl.epochs[epoch];
    const drawn = {
      posts: randomActions(
        random.permutation(preselected.reduce((sum, claim) => sum + claim.posts.length, 0)),
        total(retained.posts).retained,
      ),
      claims: randomActions(random.permutation(preselected.length), total(retained.claims).retained),
    };
    return (level) => decided(drawn[level].next().value === true);
  }
  if (matchedRandomControl !== undefined) {
    const strata = matchedRandomControl.epochs[epoch];
    return (level, { place: { claim }, prediction }) => {
      const stratum = strata[level][stratumOf(prediction, { isLabelled: claims[claim].label !== null })];
      // A class that the selection never met is retained as often as all items were.
      const { shown, retained } = stratum.shown > 0 ? stratum : total(strata[level]);
      return decided(random.uniform() * shown < retained);
    };
  }
  return policyChooser({ policies, config, isRetained: (probability) => random.uniform() < probability });
}

/** Eq. 3, where a policy decides. */
export function policyChooser(options: {
  policies: SelectorTraining['policies'];
  config: Pick<SelectorConfig, 'retain' | 'showDistribution'>;
  /** Given π(retain). */
  isRetained: (retainProbability: number) => boolean;
}): Chooser {
  const { policies, config, isRetained } = options;
  return (level, { claim, context, explanation, prediction }) => {
    if (config.retain[level] === 'all') return decided(true);
    const shown = config.showDistribution ? { distribution: prediction.distribution } : {};
    const state = selectionState({ claim, context, explanation, ...shown });
    const probability = retainProbability(policies[level], state);
    return { state, action: isRetained(probability) ? 1 : 0, retainProbability: probability };
  };
}

/** A step that no policy decided. */
export function decided(isRetained: boolean): Step {
  return { state: null, action: isRetained ? 1 : 0, retainProbability: 1 };
}

function randomActions(permutation: Int32Array, retained: number): Iterator<boolean> {
  return Array.from(permutation, (place) => place < retained).values();
}

/** Where an item is counted: by the machine's label, and by whether people labelled its claim. */
function stratumOf({ distribution }: TaskPrediction, { isLabelled }: { isLabelled: boolean }): number {
  return 2 * likeliest(distribution) + Number(isLabelled);
}

function total(strata: readonly Stratum[]): Stratum {
  return {
    shown: strata.reduce((sum, { shown }) => sum + shown, 0),
    retained: strata.reduce((sum, { retained }) => sum + retained, 0),
  };
}

/** Counts the items of one level in one epoch. */
export function countRetention(
  items: readonly { readonly claim: number; readonly prediction: TaskPrediction; readonly isRetained: boolean }[],
  { classes, claims }: { classes: number; claims: readonly SelectorClaim[] },
): Stratum[] {
  const strata = Array.from({ length: 2 * classes }, (): Stratum => ({ shown: 0, retained: 0 }));
  for (const { claim, prediction, isRetained } of items) {
    const stratum = strata[stratumOf(prediction, { isLabelled: claims[claim].label !== null })];
    stratum.shown++;
    if (isRetained) stratum.retained++;
  }
  return strata;
}
