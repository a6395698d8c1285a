import type { ReportTable } from './report.ts';
import { type Estimate, type NumberFormat, shown } from './shown-numbers.ts';

/** A system with its scores by name of the metric; null or missing where one is not known. */
export interface SystemRow {
  readonly name: string;
  readonly values: Readonly<Record<string, Estimate | null | undefined>>;
  /** Stands out, as what was trained does. */
  readonly isMarked?: boolean;
  /** Texts of the last columns. */
  readonly further?: readonly string[];
}

export interface ShownMetric extends Pick<NumberFormat, 'isDifference' | 'shows'> {
  readonly name: string;
  readonly title: string;
  readonly decimals: number;
}

/** Systems down, metrics across: the one table of every report. */
export function systemsTable(
  rows: readonly SystemRow[],
  metrics: readonly ShownMetric[],
  { first = 'system', further = [] }: { first?: string; further?: readonly string[] } = {},
): ReportTable {
  return {
    heading: [first, ...metrics.map(({ title }) => title), ...further],
    texts: further,
    rows: rows.map(({ name, values, further: texts = [] }) => [
      name,
      ...metrics.map(({ name: metric, decimals: digits, ...format }) => shown(values[metric], { digits, ...format })),
      ...texts,
    ]),
    isMarked: (row) => rows[row].isMarked === true,
  };
}
