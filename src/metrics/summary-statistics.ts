/** The mean; NaN without values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * The mean over seeds and the sample standard deviation (n − 1).
 * @param values at least one
 * @returns a deviation of null for a single value, which has no spread
 */
export function meanAndDeviation(values: readonly number[]): { mean: number; deviation: number | null } {
  const middle = mean(values);
  if (values.length === 1) return { mean: middle, deviation: null };
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return { mean: middle, deviation: Math.sqrt(squares / (values.length - 1)) };
}

/**
 * A quantile of ascending values, interpolated linearly between the two nearest, like NumPy's default.
 * @param sorted at least one value
 * @param probability 0 for the smallest value, 0.5 for the median, 1 for the largest
 */
export function quantile(sorted: Float64Array, probability: number): number {
  const position = probability * (sorted.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}
