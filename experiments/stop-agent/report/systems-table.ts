import { type Estimate, percent } from '../../report/shown-numbers.ts';
import { systemsTable, type Table } from '../../report/table.ts';
import { shownMetrics } from '../../run/metric.ts';
import { isShown } from '../decisions.ts';
import { alertMetricNames, type StopMetric, type SystemScores, shownValues, stopMetrics } from '../metrics.ts';

/** A system in a table: over seeds, or with intervals over threads. */
interface Row extends Pick<SystemScores, 'name' | 'mostCommonStop'> {
  readonly values: Readonly<Record<string, Estimate | null>>;
  readonly isMarked?: boolean;
}

/**
 * Every metric of some systems and their most common stop; F1 of each label follows macro-F1 where labels are given.
 * @param options.only which metrics; all unless given
 * @param options.hasStops whether the most common stop stands there
 */
export function stopSystemsTable(
  systems: readonly Row[],
  {
    labels = [],
    only = () => true,
    hasStops = true,
  }: { labels?: readonly string[]; only?: (metric: StopMetric) => boolean; hasStops?: boolean } = {},
): Table {
  const metrics = shownMetrics(inReadingOrder(systems).filter(only), systems);
  const f1 = labels.map((label) => ({ name: `f1 ${label}`, title: `F1 ${label}`, decimals: 3 }));
  const rows = systems.map(({ mostCommonStop: { name, share }, ...system }) => {
    return { ...system, further: hasStops ? [`${name} (${percent(share)})`] : [] };
  });
  const columns = metrics.flatMap((metric) => (metric.name === 'macroF1' ? [metric, ...f1] : [metric]));
  return systemsTable(rows, columns, { further: hasStops ? ['most common stop'] : [] });
}

/** Metrics of alerts stand before all others where there are some. */
function inReadingOrder(systems: readonly Row[]): readonly StopMetric[] {
  const isAboutAlerts = systems.some(({ values }) => (values.latencyF1 ?? null) !== null);
  if (!isAboutAlerts) return stopMetrics;
  const first = stopMetrics.filter(({ name }) => alertMetricNames.has(name));
  return [...first, ...stopMetrics.filter(({ name }) => !alertMetricNames.has(name))];
}

/** The systems of one evaluation with intervals over threads; of a grid of rules a few. */
export function evaluationTable(systems: readonly SystemScores[]): Table {
  const rows = systems
    .filter(({ name }) => isShown(name))
    .map((system) => {
      const f1 = Object.entries(system.f1ByLabel).map(([label, value]) => [`f1 ${label}`, value] as const);
      const values = [...Object.entries(shownValues(system)), ...f1].map(([metric, mean]) => {
        const [low, high] = system.intervals[metric] ?? [];
        return [metric, mean === null ? null : { mean, interval: low === undefined ? null : { low, high } }];
      });
      return { ...system, values: Object.fromEntries(values) };
    });
  return stopSystemsTable(rows, { labels: Object.keys(systems[0].f1ByLabel) });
}
