import type { Interval } from '../../src/metrics/bootstrap.ts';

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

/** `0.512 ± 0.031 [0.480, 0.544]`, without what is not known; – without a number. */
export function shown(
  estimate: Estimate | null | undefined,
  { digits = 3, isDifference = false }: { digits?: number; isDifference?: boolean } = {},
): string {
  if (estimate === null || estimate === undefined) return '–';
  const { mean, deviation = null, interval = null } = estimate;
  const text = (value: number) => (isDifference ? signed(value, digits) : value.toFixed(digits));
  return [
    text(mean),
    ...(deviation === null ? [] : [`± ${deviation.toFixed(digits)}`]),
    ...(interval === null ? [] : [`[${text(interval.low)}, ${text(interval.high)}]`]),
  ].join(' ');
}

/** An estimate with the interval of a bootstrap. */
export function estimated({ estimate, low, high }: Interval & { readonly estimate: number }): Estimate {
  return { mean: estimate, interval: { low, high } };
}

/** Whether an interval leaves out 0, so that a difference is measurable. */
export function isMeasurable({ low, high }: Interval): boolean {
  return low > 0 || high < 0;
}

/** `43%` of 0.43. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}
