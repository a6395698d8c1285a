import type { SettingSummary, SystemMean } from './trial-rows.ts';

/** A system in the plane of its aims: a swept setting or a baseline. */
export interface SweepPoint {
  readonly name: string;
  readonly isSwept: boolean;
  readonly macroF1: number;
  readonly er: number;
  /** Queries of the detector per thread. */
  readonly queries: number;
  /** No other system is as good in macro-F1 and ER and better in one of them. */
  readonly isOnFront: boolean;
  /** Whether the point is on the front with queries as a third aim. */
  readonly isOnFrontWithQueries: boolean;
}

/** Settings and baselines by macro-F1, ER and queries, means over seeds. Systems that see the labels are left out. */
export function frontPoints(settings: readonly SettingSummary[], baselines: readonly SystemMean[]): SweepPoint[] {
  const swept = settings
    .filter(({ isComplete }) => isComplete)
    .map(({ label, values }) => ({ name: label, isSwept: true, values }));
  const others = baselines
    .filter(({ role }) => role === 'baseline')
    .map(({ name, values }) => ({ name, isSwept: false, values }));
  const points = [...swept, ...others].flatMap(({ name, isSwept, values }) => {
    const [macroF1, er, queries] = [values.macroF1, values.er, values.queriesPerThread].map(
      (value) => value?.mean ?? null,
    );
    return macroF1 === null || er === null || queries === null ? [] : [{ name, isSwept, macroF1, er, queries }];
  });
  return points.map((point) => ({
    ...point,
    isOnFront: !points.some((other) => dominates([other.macroF1, -other.er], [point.macroF1, -point.er])),
    isOnFrontWithQueries: !points.some((other) =>
      dominates([other.macroF1, -other.er, -other.queries], [point.macroF1, -point.er, -point.queries]),
    ),
  }));
}

/** Whether the first is as good in every aim, more being better, and better in one. */
function dominates(first: readonly number[], second: readonly number[]): boolean {
  return first.every((value, aim) => value >= second[aim]) && first.some((value, aim) => value > second[aim]);
}
