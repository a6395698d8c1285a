/*
 * A threshold whose expected loss is controlled, on average over data sets: conformal risk control (Angelopoulos et al. 2022,
 * https://arxiv.org/abs/2208.02814, Eq. 4). With losses of items that were scored by models which have not seen them, this is its
 * cross-validated form (Cohen et al. 2024, https://arxiv.org/abs/2401.11974), in which no item is set aside.
 *
 *   paper                          here                                    why
 *   one correction per fold, B     one per item, 1                         a correction of a fifth cannot show 5%; folds of one item
 *                                                                          are the paper's own case of this form
 *   a set from the models of       one model that learned from all items   a policy that is shipped has one score; the loss on new
 *   all folds                                                              threads is measured (experiments/results/cross-fitting.md)
 */

import type { Calibration } from './learn-then-test.ts';

/**
 * The least careful threshold whose expected loss is at most `level`; null if even the most careful has more.
 * @param options.thresholds from the most careful to the least
 * @param options.lossesAt items with a loss at a threshold, 0 or 1 each; never fewer along the thresholds
 * @returns the bound is (losses + 1) / (items + 1): the expected share of items with a loss is at most this
 */
export function controlRisk(options: {
  thresholds: readonly number[];
  items: number;
  lossesAt: (threshold: number) => number;
  level: number;
}): Calibration | null {
  const { thresholds, items, lossesAt, level } = options;
  let chosen: Calibration | null = null;
  for (const threshold of thresholds) {
    const losses = lossesAt(threshold);
    const bound = (losses + 1) / (items + 1);
    if (bound > level) break;
    chosen = { threshold, items, losses, bound };
  }
  return chosen;
}

/** The fewest items that can show an expected loss of at most `level`: if none of them is a loss. */
export function smallestOnAverage({ level }: { level: number }): number {
  return Math.ceil(1 / level - 1 - 1e-9);
}
