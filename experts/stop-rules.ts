import type { JudgementSequence } from './judgement-sequence.ts';
import { earlyActionStop } from './trajectories.ts';

/*
 * Rules that decide when to stop without being trained. Each returns the 0-based step of its stop; a rule whose
 * condition never comes true stops at the last post.
 */

export interface StopRuleInput {
  readonly sequence: JudgementSequence;
  readonly goldLabel: number;
  /** Hours since the claim for each post; null where unknown. */
  readonly hours: readonly (number | null)[];
}

/** A rule that decides where to stop in a thread, beside which agents are shown. */
export interface StopRule {
  readonly name: string;
  /**
   * `one`: the detector is called once, at the stop; `every`: at every post up to it; `oracle`: the rule sees the
   * gold label.
   */
  readonly calls: 'one' | 'every' | 'oracle';
  stopStep(input: StopRuleInput): number;
}

/** Stops after this many posts, or at the last one of a shorter thread. */
export const firstPosts = (count: number): StopRule => ({
  name: count === 1 ? 'first post' : `first ${count} posts`,
  calls: 'one',
  stopStep: ({ sequence }) => Math.min(count, sequence.predicted.length) - 1,
});

/** Waits for the last post. */
export const allPosts: StopRule = {
  name: 'all posts',
  calls: 'one',
  stopStep: ({ sequence }) => sequence.predicted.length - 1,
};

/**
 * All posts up to a fixed time after the claim (EARD's preset time checkpoints); a post without a time counts as
 * later.
 */
export const afterHours = (limit: number): StopRule => ({
  name: `after ${limit} h`,
  calls: 'one',
  stopStep({ hours }) {
    const later = hours.findIndex((hour, step) => step > 0 && (hour === null || hour > limit));
    return later < 0 ? hours.length - 1 : later - 1;
  },
});

/** CED's rule (Song et al. 2019): the first prefix judged with at least this probability. Calls at every post. */
export const confidentAt = (threshold: number): StopRule => ({
  name: `confidence ≥ ${threshold}`,
  calls: 'every',
  stopStep({ sequence }) {
    const first = sequence.confidence.findIndex((confidence) => confidence >= threshold);
    return first < 0 ? sequence.confidence.length - 1 : first;
  },
});

/** EAE on the test threads, which uses what no agent can know. */
export const labelAware: StopRule = {
  name: 'label-aware bound',
  calls: 'oracle',
  stopStep: ({ sequence, goldLabel }) =>
    earlyActionStop(sequence.predicted, goldLabel) ?? sequence.predicted.length - 1,
};
