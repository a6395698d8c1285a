import type { ReportTable } from '../../report/report.ts';
import type { Estimate } from '../../report/shown-numbers.ts';
import { percent } from '../../report/shown-numbers.ts';
import { systemsTable } from '../../report/systems-table.ts';
import { shownMetrics } from '../../run/metric.ts';
import { isShown, type QueryKind } from '../decisions.ts';
import { type SystemScores, stopMetrics } from '../metrics.ts';

/** A system in a table: over seeds, or with intervals over threads. */
interface Row {
  readonly name: string;
  readonly queries: QueryKind;
  readonly values: Readonly<Record<string, Estimate | null>>;
  readonly f1ByLabel?: Readonly<Record<string, number>>;
  readonly mostCommonStop: { readonly name: string; readonly share: number };
  readonly isMarked?: boolean;
}

/** Every metric of some systems and their most common stop; F1 of each label follows macro-F1 where it is known. */
export function stopSystemsTable(systems: readonly Row[]): ReportTable {
  const [first, ...others] = shownMetrics(stopMetrics, systems);
  const labels = Object.keys(systems[0].f1ByLabel ?? {}).map((label) => {
    return { name: `f1 ${label}`, title: `F1 ${label}`, decimals: 3 };
  });
  const rows = systems.map(({ queries, values, f1ByLabel = {}, mostCommonStop, ...system }) => ({
    ...system,
    values: {
      ...Object.fromEntries(
        others.map(({ name, isNotForOracles }) => [
          name,
          isNotForOracles && queries === 'oracle' ? null : values[name],
        ]),
      ),
      [first.name]: values[first.name],
      ...Object.fromEntries(Object.entries(f1ByLabel).map(([label, mean]) => [`f1 ${label}`, { mean }])),
    },
    further: [`${mostCommonStop.name} (${percent(mostCommonStop.share)})`],
  }));
  return systemsTable(rows, [first, ...labels, ...others], { further: ['most common stop'] });
}

/** The systems of one evaluation with intervals over threads; of a grid of rules a few. */
export function evaluationTable(systems: readonly SystemScores[]): ReportTable {
  return stopSystemsTable(
    systems
      .filter(({ name }) => isShown(name))
      .map((system) => ({
        ...system,
        values: Object.fromEntries(
          Object.entries(system.values).map(([metric, mean]) => {
            const [low, high] = system.intervals[metric] ?? [];
            return [metric, mean === null ? null : { mean, interval: low === undefined ? null : { low, high } }];
          }),
        ),
      })),
  );
}
