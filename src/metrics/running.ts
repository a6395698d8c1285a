import { InputError } from '../errors.ts';

/** The mean over seeds and the sample standard deviation (n − 1); null where a single value leaves it unknown. */
export function meanAndDeviation(values: readonly number[]): { mean: number; deviation: number | null } {
  if (values.length === 0) throw new InputError('there are no values to average; give at least one');
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length === 1) return { mean, deviation: null };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / (values.length - 1)) };
}
