/** A number with its sign, as in tables of differences: `+0.014`, `−0.003`. */
export function signed(value: number, digits: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

/** A difference with its interval: `+0.014 [+0.001, +0.027]`. */
export function signedInterval(of: { estimate: number; low: number; high: number }): string {
  return `${signed(of.estimate, 3)} [${signed(of.low, 3)}, ${signed(of.high, 3)}]`;
}

/** `43 %` of 0.43. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

export interface MeanAndDeviation {
  readonly mean: number;
  readonly deviation: number | null;
}

/** `0.512 ± 0.031`, or the mean alone of a single value; with a sign where it is a difference. */
export function plusMinus(
  { mean, deviation }: MeanAndDeviation,
  options: { digits?: number; isDifference?: boolean } = {},
): string {
  const { digits = 3, isDifference = false } = options;
  const shown = isDifference ? signed(mean, digits) : mean.toFixed(digits);
  return deviation === null ? shown : `${shown} ± ${deviation.toFixed(digits)}`;
}
