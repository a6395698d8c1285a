import { type MetricInterval, metricIntervals, type SeedDecisions } from '../../src/metrics/metric-intervals.ts';
import type { DecisionLine } from './decisions-file.ts';
import { type Metric, valuesOf } from './metric.ts';

/** How the decisions of a task are scored. Tables, comparisons and sweeps of every kind of experiment are computed with one. */
export interface Scoring<Of, Columns extends object> {
  readonly metrics: readonly Metric<Columns>[];
  columnsOf(decisions: readonly Of[]): Columns;
  /** Items that are not independent, such as the replies to one claim; each item alone unless given. */
  drawnTogether?(decisions: readonly Of[]): readonly (readonly number[])[];
  /** The item of a decision, where seeds may decide the same items. */
  itemOf?(decision: Of): string;
}

/** Every metric of some decisions, by its name; null where it is not known. */
export function scoresOf<Of, Columns extends object>(
  { metrics, columnsOf }: Scoring<Of, Columns>,
  decisions: readonly Of[],
): Record<string, number | null> {
  return valuesOf(metrics, columnsOf(decisions));
}

/**
 * Metrics with their 95% intervals over seeds and items, of one system or of the first minus the second.
 * @param options.only names of the metrics; all that are resampled unless given
 */
export function intervalsOf<Of, Columns extends object>(
  { metrics, ...scoring }: Scoring<Of, Columns>,
  seeds: readonly SeedDecisions<Of>[],
  { only, seed = 1, resamples }: { only?: readonly string[]; seed?: number; resamples?: number } = {},
): MetricInterval[] {
  const resampled = metrics.filter(({ name, isResampled = true }) => only?.includes(name) ?? isResampled);
  return metricIntervals({ ...scoring, seeds, metrics: resampled, seed, resamples });
}

/** Decisions of two systems about the same items, seed by seed, in the order of the first; seeds that share no item are left out. */
export function pairedBySeed<Of extends DecisionLine>(
  first: ReadonlyMap<unknown, readonly Of[]>,
  second: ReadonlyMap<unknown, readonly Of[]>,
): Required<SeedDecisions<Of>>[] {
  return Array.from(first, ([seed, decisions]) => {
    const others = new Map(second.get(seed)?.map((decision) => [placeOf(decision), decision]));
    const pairs = decisions.flatMap((left) => {
      const right = others.get(placeOf(left));
      return right === undefined ? [] : [{ left, right }];
    });
    return { first: pairs.map(({ left }) => left), second: pairs.map(({ right }) => right) };
  }).filter(({ first: { length } }) => length > 0);
}

function placeOf({ place, item }: DecisionLine): string {
  return JSON.stringify([place, item]);
}
