import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';
import type { Estimate } from './shown-numbers.ts';

/** A number that some seeds may not know. */
type Known = number | null | undefined;

/** Mean and standard deviation over the seeds that know a number; null where none does. */
export function overSeeds(values: readonly Known[]): Estimate | null {
  const known = values.filter((value) => typeof value === 'number');
  return known.length === 0 ? null : meanAndDeviation(known);
}

/** The same of numbers by their names. */
export function valuesOverSeeds(seeds: readonly Readonly<Record<string, Known>>[]): Record<string, Estimate | null> {
  const names = new Set(seeds.flatMap((own) => Object.keys(own)));
  return Object.fromEntries(Array.from(names, (name) => [name, overSeeds(seeds.map((own) => own[name]))]));
}
