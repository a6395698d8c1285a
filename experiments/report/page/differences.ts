import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { isMeasurable, signed } from '../shown-numbers.ts';
import type { Markup } from './html.ts';
import { table } from './tables.ts';

/** Differences of two systems with their intervals; those that leave out 0 stand out. */
export function differencesTable(caption: string, metrics: readonly MetricInterval[]): Markup {
  return table({
    caption,
    columns: ['metric', 'difference', '95 %', 'p'],
    rows: metrics.map(({ title, estimate, low, high, pValue }) => [
      title,
      signed(estimate, 4),
      `${signed(low, 4)} to ${signed(high, 4)}`,
      pValue.toFixed(4),
    ]),
    isMarked: (row) => isMeasurable(metrics[row]),
    isSortable: false,
  });
}
