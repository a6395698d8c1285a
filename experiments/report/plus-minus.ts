import type { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';

/** `0.512 ± 0.031`, or the mean alone of a single value; with a sign where it is a difference. */
export function plusMinus(
  { mean, deviation }: ReturnType<typeof meanAndDeviation>,
  options: { digits?: number; signed?: boolean } = {},
): string {
  const { digits = 3, signed = false } = options;
  const shown = `${signed && mean >= 0 ? '+' : ''}${mean.toFixed(digits)}`;
  return deviation === null ? shown : `${shown} ± ${deviation.toFixed(digits)}`;
}
