import { z } from 'zod';
import type { JudgementSequence } from './judgement-sequence.ts';

/*
 * The three experts of EARD (§4.2.1). Each turns one thread's judgements ŷ_1 … ŷ_n and its label y into a stop: the
 * first prefix at which the expert stops. Every later action is stop, too.
 *
 *   CE   conservative   the first prefix from which ŷ stays equal to y to the end
 *   EAE  early action   the first prefix whose ŷ equals y
 *   ME   misleading     where ŷ_n ≠ y: the first prefix from which ŷ stays as it ends, wrong
 *
 * An answer that could not be parsed is no label: it interrupts a stable stretch and is never right, and a sequence that
 * ends with one has neither CE nor ME.
 */

/** The experts in the order of every list. */
export const expertNames = ['conservative', 'earlyAction', 'misleading'] as const;
/** One of the three experts of EARD (§4.2.1). */
export type ExpertName = (typeof expertNames)[number];

export interface Demonstration {
  readonly expert: ExpertName;
  readonly threadId: string;
  /** 0-based step of the stop. */
  readonly stopStep: number;
  /** Steps in the demonstration: posts of the thread. */
  readonly length: number;
}

/** CE's stop step; null if the last judgement is wrong. */
export function conservativeStop(predicted: ArrayLike<number>, label: number): number | null {
  return predicted[predicted.length - 1] === label ? stableFrom(predicted) : null;
}

/** EAE's stop step; null if no judgement is right. */
export function earlyActionStop(predicted: ArrayLike<number>, label: number): number | null {
  const step = Array.prototype.indexOf.call(predicted, label);
  return step < 0 ? null : step;
}

/** ME's stop step; null if the last judgement is right or could not be parsed. */
export function misleadingStop(predicted: ArrayLike<number>, label: number): number | null {
  const last = predicted[predicted.length - 1];
  return last === label || last < 0 ? null : stableFrom(predicted);
}

/** The first step from which the sequence no longer changes. */
function stableFrom(predicted: ArrayLike<number>): number {
  let step = predicted.length - 1;
  while (step > 0 && predicted[step - 1] === predicted[step]) step--;
  return step;
}

export const trajectoriesSchema = z.strictObject({
  keepEarlyAction: z
    .enum(['differing', 'all'])
    .default('differing')
    .describe("keep an early-action trajectory only where it differs from the conservative one's, or always"),
  minPosts: z.int().min(1).default(3).describe('shorter threads give no demonstrations'),
  maxConservative: z.int().min(1).default(50).describe('conservative trajectories at most'),
  ratio: z
    .enum(['all', 'weights'])
    .default('all')
    .describe(
      'all: take every trajectory; weights: subsample the sets in the ratio alpha : beta : gamma, the other reading of EARD’s Figure 5, counted as the published code does',
    ),
  control: z
    .enum(['none', 'random-stops'])
    .default('none')
    .describe('random-stops: every demonstration stops at a random post, so that there is nothing to learn from them'),
});
export type TrajectoriesConfig = z.infer<typeof trajectoriesSchema>;

/** Demonstrations of labelled threads, in the order of the threads, before any subsampling. */
export function demonstrationsOf(
  threads: readonly { sequence: JudgementSequence; label: number }[],
  config: TrajectoriesConfig,
): Demonstration[] {
  return threads.flatMap(({ sequence, label }) => {
    const { predicted, threadId } = sequence;
    if (predicted.length < config.minPosts) return [];
    const conservative = conservativeStop(predicted, label);
    const earlyAction = earlyActionStop(predicted, label);
    const keepsEarlyAction = config.keepEarlyAction === 'all' || earlyAction !== conservative;
    const stops: [ExpertName, number | null][] = [
      ['conservative', conservative],
      ['earlyAction', keepsEarlyAction ? earlyAction : null],
      ['misleading', misleadingStop(predicted, label)],
    ];
    return stops.flatMap(([expert, stopStep]) =>
      stopStep === null ? [] : [{ expert, threadId, stopStep, length: predicted.length }],
    );
  });
}

/**
 * Caps the conservative set. With `ratio: weights` it also cuts the other sets as the authors' code does
 * (`subset_parts_by_ratio_and_count`): the set has ⌊c/α⌋ trajectories in all, so that c conservative ones are the share
 * α, and the rest is split in β : γ, the misleading share rounded down, at least one of each. A set is chosen without
 * replacement. `shuffle` permutes 0 … length − 1.
 */
export function selectDemonstrations(
  demonstrations: readonly Demonstration[],
  config: TrajectoriesConfig,
  options: { weights: { alpha: number; beta: number; gamma: number }; shuffle: (length: number) => Int32Array },
): Demonstration[] {
  const { alpha, beta, gamma } = options.weights;
  const take = (expert: ExpertName, limit: number) => {
    const all = demonstrations.filter((demonstration) => demonstration.expert === expert);
    if (all.length <= limit) return all;
    const chosen = options.shuffle(all.length).slice(0, limit).sort();
    return Array.from(chosen, (index) => all[index]);
  };
  const conservative = take('conservative', config.maxConservative);
  const limits =
    config.ratio === 'all' || alpha === 0
      ? { earlyAction: Infinity, misleading: Infinity }
      : furtherCounts(conservative.length, { alpha, beta, gamma });
  const selected = [
    ...conservative,
    ...take('earlyAction', limits.earlyAction),
    ...take('misleading', limits.misleading),
  ];
  if (config.control === 'none') return selected;
  return selected.map((demonstration) => ({ ...demonstration, stopStep: options.shuffle(demonstration.length)[0] }));
}

function furtherCounts(
  conservative: number,
  { alpha, beta, gamma }: { alpha: number; beta: number; gamma: number },
): { earlyAction: number; misleading: number } {
  const others = Math.floor(conservative / alpha) - conservative;
  const misleading = beta + gamma > 0 ? Math.floor((gamma / (beta + gamma)) * others) : 0;
  return { earlyAction: Math.max(1, others - misleading), misleading: Math.max(1, misleading) };
}
