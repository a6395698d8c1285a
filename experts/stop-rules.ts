import type { JudgementSequence } from './judgement-sequence.ts';
import { lengthsUntil, type PrefixSchedule, queriedLengths } from './prefix-schedule.ts';
import { earlyActionStop } from './trajectories.ts';

/*
 * Rules that decide when to stop without being trained. Each returns the 0-based step of its stop; a rule whose
 * condition never comes true stops at the last post.
 */

export interface StopRuleInput {
  readonly sequence: Pick<JudgementSequence, 'predicted' | 'confidence'>;
  readonly goldLabel: number;
  /** Hours since the claim for each post; null where unknown. */
  readonly hours: readonly (number | null)[];
}

/** A rule that decides where to stop in a thread, beside which agents are shown. */
export interface StopRule {
  readonly name: string;
  /**
   * When the detector is called. `one`: at the stop; `schedule`: at some posts up to it; `every`: at every post up to it;
   * `oracle`: the rule sees the gold label.
   */
  readonly calls: 'one' | 'schedule' | 'every' | 'oracle';
  /** The posts at which it asks the detector, besides the stop; null for none. */
  readonly schedule: PrefixSchedule | null;
  stopStep(input: StopRuleInput): number;
}

/** Stops after this many posts, or at the last one of a shorter thread. */
export const firstPosts = (count: number): StopRule => ({
  name: count === 1 ? 'first post' : `first ${count} posts`,
  calls: 'one',
  schedule: null,
  stopStep: ({ sequence }) => Math.min(count, sequence.predicted.length) - 1,
});

/** Waits for the last post. */
export const allPosts: StopRule = {
  name: 'all posts',
  calls: 'one',
  schedule: null,
  stopStep: ({ sequence }) => sequence.predicted.length - 1,
};

/**
 * All posts up to a fixed time after the claim (EARD's preset time checkpoints); a post without a time counts as
 * later.
 */
export const afterHours = (limit: number): StopRule => ({
  name: `after ${limit} h`,
  calls: 'one',
  schedule: null,
  stopStep({ hours }) {
    const later = hours.findIndex((hour, step) => step > 0 && (hour === null || hour > limit));
    return later < 0 ? hours.length - 1 : later - 1;
  },
});

/**
 * CED's rule (Song et al. 2019): the first prefix judged with at least this probability. Asks at every post, or at those of
 * a schedule; a thread that ends before is decided at its last post.
 */
export function confidentAt(threshold: number, schedule: PrefixSchedule = { name: 'every' }): StopRule {
  return {
    name: `confidence ≥ ${threshold}${schedule.name === 'every' ? '' : `, asked at ${scheduleName(schedule)}`}`,
    calls: schedule.name === 'every' ? 'every' : 'schedule',
    schedule,
    stopStep({ sequence: { confidence } }) {
      const asked = queriedLengths({ schedule, posts: confidence.length });
      const first = asked.find((length) => confidence[length - 1] >= threshold);
      return (first ?? confidence.length) - 1;
    },
  };
}

/** A schedule in a table: `1, 2, 3, 5, 8, …` posts. */
function scheduleName(schedule: PrefixSchedule): string {
  const [first, ...lengths] = queriedLengths({ schedule, posts: 1000 });
  return `${[first, ...lengths.slice(0, 4)].join(', ')}${lengths.length > 4 ? ', …' : ''}`;
}

/** Calls of the detector where a rule, or an agent on a schedule, stops after so many posts of a sequence. */
export function callsOfStop(
  stop: number,
  { schedule, sequence }: Pick<StopRule, 'schedule'> & Pick<StopRuleInput, 'sequence'>,
): number {
  return lengthsUntil(stop, { schedule, maxPosts: sequence.predicted.length }).length;
}

/** EAE on the test threads, which uses what no agent can know. */
export const labelAware: StopRule = {
  name: 'label-aware bound',
  calls: 'oracle',
  schedule: null,
  stopStep: ({ sequence, goldLabel }) =>
    earlyActionStop(sequence.predicted, goldLabel) ?? sequence.predicted.length - 1,
};
