import { numbersTable } from '../../report/numbers-table.ts';
import { percent } from '../../report/shown-numbers.ts';
import { isShown } from '../decisions.ts';
import { type SystemScores, shownMetrics } from '../metrics.ts';

/** One evaluation's systems in Markdown, with intervals over threads; of a grid of rules a few. F1 of each label follows macro-F1. */
export function systemsTable(systems: readonly SystemScores[]): string {
  const labels = Object.keys(systems[0].f1ByLabel);
  const [first, ...others] = shownMetrics(systems);
  const cell = ({ values, intervals, calls }: SystemScores, metric: typeof first) => {
    const value = values[metric.name];
    if (value === null || (metric.isNotForOracles && calls === 'oracle')) return '–';
    const interval = intervals[metric.name]?.map((bound) => bound.toFixed(metric.decimals));
    return `${value.toFixed(metric.decimals)}${interval === undefined ? '' : ` [${interval.join(', ')}]`}`;
  };
  return numbersTable(
    [
      'system',
      first.title,
      ...labels.map((label) => `F1 ${label}`),
      ...others.map(({ title }) => title),
      'most common stop',
    ],
    systems
      .filter(({ name }) => isShown(name))
      .map((system) => [
        system.name,
        cell(system, first),
        ...labels.map((label) => system.f1ByLabel[label].toFixed(3)),
        ...others.map((metric) => cell(system, metric)),
        `${system.mostCommonStop.name} (${percent(system.mostCommonStop.share)})`,
      ]),
    { texts: ['most common stop'] },
  );
}
