import type { Rows } from './row-table.ts';

/** Mean and variance to standardise with, [columns] each. */
export interface Moments {
  readonly mean: Float64Array;
  readonly variance: Float64Array;
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
  return { mean, variance };
}

/** New rows, standardised and clipped to ±10. A column that does not vary becomes 0. */
export function standardized(
  { data, columns }: { readonly data: Float32Array | Float64Array; readonly columns: number },
  { mean, variance }: Moments,
): Rows {
  const scale = variance.map((value) => (value < 1e-12 ? 0 : 1 / Math.sqrt(value)));
  const result = new Float32Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const column = i % columns;
    result[i] = Math.max(-clipTo, Math.min(clipTo, (data[i] - mean[column]) * scale[column]));
  }
  return { data: result, columns };
}
