/*
 * Thresholds with a guarantee: Learn then Test (Angelopoulos et al. 2021, https://arxiv.org/abs/2110.01052) with the exact
 * binomial tail as p-value and fixed-sequence testing (§2.2 and appendix B of that paper).
 */

/** A guarantee: with probability `confidence` over the calibration items, at most a share `level` are losses. */
export interface RiskLevel {
  /** Largest share of items with a loss; in (0, 1). */
  readonly level: number;
  /** In (0, 1). */
  readonly confidence: number;
}

/** The result at the chosen threshold. */
export interface Calibration {
  readonly threshold: number;
  readonly items: number;
  /** Items with a loss at the threshold. */
  readonly losses: number;
  /** On the share of items with a loss; here by Clopper and Pearson, at the confidence of the guarantee. */
  readonly bound: number;
}

/**
 * The least careful threshold with the guarantee; null if even the most careful has none.
 * @param options.thresholds from the most careful to the least, fixed before the items were seen
 * @param options.lossesAt items with a loss at a threshold, 0 or 1 each; the items are drawn independently from the
 *   population of the guarantee
 */
export function learnThenTest(
  options: { thresholds: readonly number[]; items: number; lossesAt: (threshold: number) => number } & RiskLevel,
): Calibration | null {
  const { thresholds, items, lossesAt, level, confidence } = options;
  let chosen: { threshold: number; losses: number } | null = null;
  for (const threshold of thresholds) {
    const losses = lossesAt(threshold);
    // The first threshold without evidence ends the sequence, so no correction for many tests is needed.
    if (binomialTail({ losses, items, share: level }) > 1 - confidence) break;
    chosen = { threshold, losses };
  }
  return chosen && { ...chosen, items, bound: upperBound({ ...chosen, items, confidence }) };
}

/**
 * The least careful threshold with a guarantee about some of the items, such as those that raise an alert. Their number
 * depends on the threshold, and the most careful ones have too few to show anything, so no sequence can begin there:
 * every threshold is tested, with Holm's correction (the same paper, §2.2). Given the number of items at a threshold,
 * their losses are a binomial variable.
 * @param options.thresholds from the most careful to the least, fixed before the items were seen
 * @returns null if no threshold has the guarantee
 */
export function learnThenTestSome(
  options: {
    thresholds: readonly number[];
    countsAt: (threshold: number) => { readonly items: number; readonly losses: number };
  } & RiskLevel,
): Calibration | null {
  const { thresholds, countsAt, level, confidence } = options;
  const tested = thresholds.map((threshold, place) => {
    const counts = countsAt(threshold);
    return { place, threshold, ...counts, p: binomialTail({ ...counts, share: level }) };
  });
  const byP = tested.toSorted((a, b) => a.p - b.p);
  const failing = byP.findIndex(({ p }, rank) => p > (1 - confidence) / (byP.length - rank));
  const [chosen] = byP.slice(0, failing < 0 ? byP.length : failing).sort((a, b) => b.place - a.place);
  if (chosen === undefined) return null;
  const { threshold, items, losses } = chosen;
  return { threshold, items, losses, bound: upperBound({ losses, items, confidence }) };
}

/** The fewest items that can show a guarantee: if none of them is a loss. */
export function smallestCalibration({ level, confidence }: RiskLevel): number {
  return Math.ceil(Math.log(1 - confidence) / Math.log(1 - level));
}

/** P(X ≤ losses) for X binomial with `items` items, each a loss with probability `share` in (0, 1). */
export function binomialTail({ losses, items, share }: { losses: number; items: number; share: number }): number {
  let logTerm = items * Math.log1p(-share);
  let sum = Math.exp(logTerm);
  for (let k = 1; k <= losses; k++) {
    logTerm += Math.log((items - k + 1) / k) + Math.log(share) - Math.log1p(-share);
    sum += Math.exp(logTerm);
  }
  return Math.min(1, sum);
}

/** The share at which this few losses occur with probability 1 − confidence (Clopper & Pearson 1934). */
export function upperBound(options: { losses: number; items: number; confidence: number }): number {
  const { losses, items, confidence } = options;
  if (losses >= items) return 1;
  let [low, high] = [losses / items, 1];
  while (high - low > 1e-9) {
    const share = (low + high) / 2;
    if (share > 0 && binomialTail({ losses, items, share }) <= 1 - confidence) high = share;
    else low = share;
  }
  return high;
}
