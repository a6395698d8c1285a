import type { Interval } from '../../src/metrics/bootstrap.ts';
import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';

/** A number with its sign, as in tables of differences: `+0.014`, `−0.003`. */
export function signed(value: number, digits: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

/** A mean, with its deviation over seeds and its 95% interval where these are known. */
export interface Estimate {
  readonly mean: number;
  readonly deviation?: number | null;
  readonly interval?: Interval | null;
}

/** How an estimate is written. */
export interface NumberFormat {
  readonly digits?: number;
  readonly isDifference?: boolean;
  /** Only the mean, or the mean and its interval; all that is known unless given. */
  readonly shows?: 'mean' | 'interval' | undefined;
}

/** `0.512 ± 0.031 [0.480, 0.544]`, without what is not known; – without a number. */
export function shown(
  estimate: Estimate | null | undefined,
  { digits = 3, isDifference = false, shows }: NumberFormat = {},
): string {
  if (estimate === null || estimate === undefined) return '–';
  const { mean, deviation = null, interval = null } = estimate;
  const text = (value: number) => (isDifference ? signed(value, digits) : value.toFixed(digits));
  return [
    text(mean),
    ...(deviation === null || shows !== undefined ? [] : [`± ${deviation.toFixed(digits)}`]),
    ...(interval === null || shows === 'mean' ? [] : [`[${text(interval.low)}, ${text(interval.high)}]`]),
  ].join(' ');
}

/** An estimate with the interval of a bootstrap. */
export function estimated({ estimate, low, high }: Interval & { readonly estimate: number }): Estimate {
  return { mean: estimate, interval: { low, high } };
}

/** 1 where an interval lies above a number, −1 where it lies below: only then is a difference measurable. 0 otherwise, and without one. */
export function directionOf(interval: Interval | null | undefined, than = 0): 1 | 0 | -1 {
  if (interval === null || interval === undefined) return 0;
  return interval.low > than ? 1 : interval.high < than ? -1 : 0;
}

/** A score between 0 and 1, or a threshold of it, as which 0.99995 is not 1. */
export function shownScore(score: number): string {
  const text = score.toFixed(3);
  return text === '1.000' && score < 1 ? String(Number(score.toPrecision(6))) : text;
}

/** `43%` of 0.43. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}

/** A number that some seeds may not know. */
type Known = number | null | undefined;

/** Mean and standard deviation over the seeds that know a number; null where none does. */
export function overSeeds(values: readonly Known[]): Estimate | null {
  const numbers = values.filter((value) => typeof value === 'number');
  return numbers.length === 0 ? null : meanAndDeviation(numbers);
}

/** Estimates over seeds of numbers by their names. */
export function valuesOverSeeds(seeds: readonly Readonly<Record<string, Known>>[]): Record<string, Estimate | null> {
  const names = new Set(seeds.flatMap((seed) => Object.keys(seed)));
  return Object.fromEntries(Array.from(names, (name) => [name, overSeeds(seeds.map((seed) => seed[name]))]));
}
