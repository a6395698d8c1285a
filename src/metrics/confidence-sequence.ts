/*
 * A confidence sequence of a share of losses, by betting (Waudby-Smith & Ramdas 2024, https://arxiv.org/abs/2010.09686). Losses are 0 or 1.
 *
 * A bettor who starts with 1 and stakes at odds r on a loss owns r^losses / (1 − m + m·r)^items. While losses come with probability m at
 * most, that is a supermartingale for r > 1, so it ever exceeds 1/level with probability `level` at most (Ville's inequality). For r < 1
 * the same holds of m at least. Probabilities may drift: log(1 − m + m·r) is concave in m, so their mean over the items counts.
 */

/** Odds of both kinds, from 3% beside 1, for many items, up to e². */
const stakes = [0.03, 0.06, 0.12, 0.25, 0.5, 1, 2].flatMap((log) => [Math.exp(log), Math.exp(-log)]);

export interface Losses {
  readonly losses: number;
  readonly items: number;
}

/**
 * A confidence sequence: with probability `confidence`, the mean probability of a loss lies inside at every time,
 * however often it is checked.
 */
export function confidenceSequence(sample: Losses, confidence: number): { low: number; high: number } {
  const { losses, items } = sample;
  if (items === 0) return { low: 0, high: 1 };
  const isIn = (share: number) => wealth(sample, share) < 1 / (1 - confidence);
  // The wealth is convex in the share and at most 1 at the observed one, so this is an interval around that.
  const rate = losses / items;
  return { low: rate === 0 ? 0 : border(isIn, rate, 0), high: rate === 1 ? 1 : border(isIn, rate, 1) };
}

/** Mean wealth of the bettors. */
function wealth({ losses, items }: Losses, share: number): number {
  const logs = stakes.map((stake) => losses * Math.log(stake) - items * Math.log1p(share * (stake - 1)));
  return logs.reduce((sum, log) => sum + Math.exp(log), 0) / stakes.length;
}

/** The last share inside, on the way from `inside` to `end`. */
function border(isIn: (share: number) => boolean, inside: number, end: number): number {
  if (isIn(end)) return end;
  let [near, far] = [inside, end];
  while (Math.abs(far - near) > 1e-9) {
    const middle = (near + far) / 2;
    if (isIn(middle)) near = middle;
    else far = middle;
  }
  return far;
}
