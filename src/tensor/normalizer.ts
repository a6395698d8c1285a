import type { Rows } from './row-tables.ts';

/** Mean and variance to standardise with: [columns] each, or [1] for all columns together. */
export interface Moments {
  mean: Float64Array;
  variance: Float64Array;
  /** How many values each mean is of; 0 before the first. */
  count: number;
}

/** Standardised values are clipped to this. */
const clipTo = 10;

/** The exact moments of every column, with the variance of the population (divided by n). */
export function columnMoments({ data, columns }: Rows): Moments {
  const count = data.length / columns;
  const mean = new Float64Array(columns);
  const variance = new Float64Array(columns);
  for (let i = 0; i < data.length; i++) mean[i % columns] += data[i] / count;
  for (let i = 0; i < data.length; i++) variance[i % columns] += (data[i] - mean[i % columns]) ** 2 / count;
  return { mean, variance, count };
}

/** Mean 0 and variance 1 for all columns, to be updated batch by batch with `updateScalarMoments`. */
export function scalarMoments(): Moments {
  return { mean: Float64Array.of(0), variance: Float64Array.of(1), count: 0 };
}

/**
 * Merges further values into scalar moments, in place (Chan, Golub & LeVeque, "Updating Formulae and a Pairwise
 * Algorithm for Computing Sample Variances", 1979).
 */
export function updateScalarMoments(moments: Moments, values: Float32Array): void {
  if (values.length === 0) return;
  let mean = 0;
  for (const value of values) mean += value / values.length;
  let variance = 0;
  for (const value of values) variance += (value - mean) ** 2 / values.length;
  const total = moments.count + values.length;
  const delta = mean - moments.mean[0];
  const spread =
    moments.variance[0] * moments.count +
    variance * values.length +
    (delta ** 2 * moments.count * values.length) / total;
  moments.mean[0] += (delta * values.length) / total;
  moments.variance[0] = spread / total;
  moments.count = total;
}

/** New rows, standardised and clipped to ±10. A column that does not vary becomes 0. */
export function standardized(
  { data, columns }: { readonly data: Float32Array | Float64Array; readonly columns: number },
  { mean, variance }: Moments,
): Rows {
  const scale = variance.map((value) => (value < 1e-12 ? 0 : 1 / Math.sqrt(value)));
  const perColumn = mean.length > 1;
  const result = new Float32Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const column = perColumn ? i % columns : 0;
    result[i] = Math.max(-clipTo, Math.min(clipTo, (data[i] - mean[column]) * scale[column]));
  }
  return { data: result, columns };
}
