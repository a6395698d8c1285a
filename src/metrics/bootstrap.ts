import { InputError } from '../errors.ts';
import { Random } from '../tensor/random.ts';
import { quantile } from './summary-statistics.ts';

/** Options of the draws. */
interface BootstrapOptions {
  readonly seed: number;
  /** The number of resamples; 2,000 by default. */
  readonly resamples?: number;
  /** The confidence level of the interval; 0.95 by default. */
  readonly confidence?: number;
  /** The range of each statistic that is a score or a difference of scores; null for others, and for all by default. */
  readonly scoreRange?: (statistic: number) => readonly [least: number, most: number] | null;
}

/** A confidence interval, in the units of the statistic. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * Percentile bootstrap (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13): the statistic on the
 * items, and its interval over samples drawn with replacement. Equal seeds give equal intervals.
 * @param options.items the number of items; samples are drawn from 0 … items − 1
 * @param options.statistic a number computed from items by index, with repetitions; the array is reused after the call.
 *   For two systems on the same items, give their difference
 * @returns also the two-sided p-value of 0: twice the smaller share of samples on one side of 0, with one more counted
 *   on either side, so that it is never 0. It is below 0.05 roughly when the 95% interval excludes 0
 * @throws InputError for no items
 */
export function bootstrapInterval(
  options: BootstrapOptions & { readonly items: number; readonly statistic: (items: Int32Array) => number },
): Interval & { readonly estimate: number; readonly pValue: number } {
  const { items, statistic, ...drawing } = options;
  const [interval] = bootstrapGroups({
    ...drawing,
    groups: [items],
    statistics: (_group, drawn) => [statistic(drawn)],
  });
  return interval;
}

/** With fewer items a bootstrap means nothing: its samples hardly differ. */
export const fewestItems = 10;

/**
 * Means of statistics over groups of items, with percentile intervals that resample the groups first and then the items
 * of each (Davison & Hinkley, "Bootstrap Methods and their Application", 1997, §3.8), because items of one group are
 * not independent. A single group is resampled by its items. A group with a statistic of NaN does not count towards its
 * mean. No sample contains an unseen kind of item: if no sample crosses a score's estimate on one side, such as that of
 * items which are all right, the bound there is as far off as the largest share that may be unseen.
 * @param options.groups items of each group
 * @returns one entry per statistic, with the two-sided p-value of 0 (see `bootstrapInterval`)
 * @throws InputError without groups, or for a group without items
 */
export function bootstrapGroups(
  options: BootstrapOptions & {
    readonly groups: readonly number[];
    /**
     * Whether the groups hold the same items in the same order, such as threads decided under every seed; each sample
     * then draws them once for all.
     */
    readonly sameItems?: boolean;
    /** The statistics of one group (such as a seeded run) on some of its items, by index, with repetitions. */
    readonly statistics: (group: number, items: Int32Array) => readonly number[];
  },
): (Interval & { readonly estimate: number; readonly pValue: number })[] {
  const {
    groups,
    sameItems = false,
    seed,
    statistics,
    resamples = 2000,
    confidence = 0.95,
    scoreRange = () => null,
  } = options;
  if (groups.length === 0 || groups.some((items) => !(items >= 1)))
    throw new InputError(
      `a bootstrap over ${groups.join(', ') || 'no'} items is not possible; evaluate on at least one`,
    );
  const random = Random.seeded({ seed, purpose: 'bootstrap' });
  const drawn = groups.map((items) => Int32Array.from({ length: items }, (_, item) => item));
  const estimates = meansOver(groups.map((_, group) => statistics(group, drawn[group])));
  const samples = estimates.map(() => new Float64Array(resamples));
  for (let sample = 0; sample < resamples; sample++) {
    if (sameItems) redraw(drawn[0]);
    const values = groups.map((_, place) => {
      const group = groups.length === 1 ? place : random.integer(groups.length);
      const items = sameItems ? drawn[0] : drawn[group];
      if (!sameItems) redraw(items);
      return statistics(group, items);
    });
    for (const [index, mean] of meansOver(values).entries()) samples[index][sample] = mean;
  }
  function redraw(items: Int32Array): void {
    for (let position = 0; position < items.length; position++) items[position] = random.integer(items.length);
  }
  // The largest share that an unseen kind of item may have, by the binomial distribution; for 95% about 3.7 / items.
  const meanItems = groups.reduce((sum, items) => sum + items, 0) / groups.length;
  const unseen = 1 - ((1 - confidence) / 2) ** (1 / meanItems);
  return estimates.map((estimate, index) => {
    const values = samples[index].filter((value) => !Number.isNaN(value)).sort();
    const tail = (1 - confidence) / 2;
    const [low, high] = [quantile(values, tail), quantile(values, 1 - tail)];
    const range = scoreRange(index);
    return {
      estimate,
      low: range !== null && low >= estimate - rounding ? Math.max(range[0], estimate - unseen) : low,
      high: range !== null && high <= estimate + rounding ? Math.min(range[1], estimate + unseen) : high,
      pValue: twoSided(values),
    };
  });
}

/** The rounding error of sums in different orders. */
const rounding = 1e-12;

/** The mean of each column over the rows where it is not NaN; NaN without any. */
function meansOver(rows: readonly (readonly number[])[]): number[] {
  return rows[0].map((_, column) => {
    let [sum, count] = [0, 0];
    for (const row of rows) {
      if (Number.isNaN(row[column])) continue;
      sum += row[column];
      count++;
    }
    return sum / count;
  });
}

function twoSided(samples: Float64Array): number {
  const notAbove = samples.reduce((count, difference) => count + Number(difference <= 0), 1);
  const notBelow = samples.reduce((count, difference) => count + Number(difference >= 0), 1);
  return Math.min(1, (2 * Math.min(notAbove, notBelow)) / (samples.length + 1));
}
