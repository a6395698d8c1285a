import type { Interval } from '../../src/metrics/bootstrap.ts';
import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';
import { type Estimate, shown } from '../report/shown-numbers.ts';

/** A mean over seeds. */
export interface SeedInterval {
  readonly mean: number;
  /** The 95% interval; null with one seed, and where all have the same value: that tells nothing of their spread. */
  readonly low: number | null;
  readonly high: number | null;
  readonly seeds: number;
}

/** 97.5% quantiles of Student's t for 1 … 30 degrees of freedom. */
const quantiles = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** The limits of a number. */
export type ValueRange = readonly [least: number, most: number];

/** Equal numbers differ by so much after sums and differences. */
const rounding = 1e-12;

const anything: ValueRange = [-Infinity, Infinity];

/**
 * The mean and its 95% interval by Student's t, seeds being the sample, cut at what is possible: that takes no coverage away.
 * @throws InputError without values
 */
export function seedInterval(values: readonly number[], [least, most]: ValueRange = anything): SeedInterval {
  const { mean, deviation } = meanAndDeviation(values);
  const isSame = Math.max(...values) - Math.min(...values) < rounding;
  if (deviation === null || isSame) return { mean, low: null, high: null, seeds: values.length };
  const half = (quantile(values.length - 1) * deviation) / Math.sqrt(values.length);
  return { mean, low: Math.max(least, mean - half), high: Math.min(most, mean + half), seeds: values.length };
}

/** Above the table by the first term of the Cornish–Fisher expansion, which is right to three digits there. */
function quantile(freedom: number): number {
  const normal = 1.959964;
  return quantiles[freedom - 1] ?? normal + (normal ** 3 + normal) / (4 * freedom);
}

/** As tables and charts show it. */
export function estimateOf({ mean, low, high }: SeedInterval): Estimate & { readonly interval: Interval | null } {
  return { mean, interval: low === null || high === null ? null : { low, high } };
}

/** `0.512 [0.480, 0.544]`, or the mean alone where there is no interval. */
export function shownInterval(of: SeedInterval, digits: number): string {
  return shown(estimateOf(of), { digits });
}
