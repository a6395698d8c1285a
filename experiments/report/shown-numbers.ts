/** A number with its sign, as in tables of differences: `+0.014`, `−0.003`. */
export function signed(value: number, digits: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

/** A number with its 95 % interval. */
interface Estimated {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/** `0.512 [0.480, 0.544]`. */
export function withInterval({ estimate, low, high }: Estimated, digits = 3): string {
  return `${estimate.toFixed(digits)} [${low.toFixed(digits)}, ${high.toFixed(digits)}]`;
}

/** Whether an interval leaves out 0, so that a difference is measurable. */
export function isMeasurable({ low, high }: Pick<Estimated, 'low' | 'high'>): boolean {
  return low > 0 || high < 0;
}

/** A difference with its interval: `+0.014 [+0.001, +0.027]`. */
export function signedInterval(of: Estimated): string {
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
