import { counted } from '../../../src/counted.ts';
import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import type { Report } from '../report.ts';
import { directionOf, estimated, shown, signed } from '../shown-numbers.ts';
import type { Table } from '../table.ts';
import { pageOf } from './page.ts';

/** Two systems on some items: a test and a task, for example. */
export interface ComparedPlace {
  readonly title: string;
  /** The place that is compared, for JSON. */
  readonly of: Readonly<Record<string, string | number>>;
  /** Decisions paired. */
  readonly items: number;
  readonly seeds: number;
  /** First minus second, mean over seeds. */
  readonly metrics: readonly MetricInterval[];
  /** The items on which they differ: its id, what it is, and both predictions. */
  readonly differing: readonly (readonly string[])[];
}

const differingShown = 500;

/** First minus second, with what differs measurably marked. */
export function differencesTable(metrics: readonly MetricInterval[]): Table {
  return {
    heading: ['first minus second', 'difference', '95%', 'p'],
    rows: metrics.map(({ title, estimate, low, high, pValue }) => [
      title,
      signed(estimate, 4),
      `[${signed(low, 4)}, ${signed(high, 4)}]`,
      pValue.toFixed(4),
    ]),
    isMarked: (row) => directionOf(metrics[row]) !== 0,
  };
}

/** The page of two systems: at every place their differences, and the items on which they differ. */
export async function comparisonPage(options: {
  /** Of the first and the second; a system is null where the folder says all. */
  names: readonly { readonly system: string | null; readonly folder: string }[];
  command: string;
  places: readonly ComparedPlace[];
}): Promise<string> {
  const { names, command, places } = options;
  const [first, second] = names.map(({ system, folder }) => (system === null ? folder : `${system} of ${folder}`));
  const [{ metrics: headline }] = places;
  const is = directionOf(headline[0]) !== 0 ? 'differ' : 'do not measurably differ';
  const report: Report = {
    ...{ title: names.map(({ system, folder }) => system ?? folder).join(' against '), command, description: '' },
    ...{ tables: [], notes: [], next: [] },
    conclusion: `They ${is} in ${headline[0].title}: ${shown(estimated(headline[0]), { isDifference: true })}, first minus second, on ${places[0].title}.`,
    facts: [`first: ${first}`, `second: ${second}`],
    sections: places.map(({ title, items, metrics, differing }, index) => ({
      id: `comparison-${index + 1}`,
      title,
      blocks: [
        `${counted(items, 'decision')} paired; 95% intervals by a paired bootstrap over them.`,
        differencesTable(metrics),
        `${counted(differing.length, 'item')} on which they differ${differing.length > differingShown ? `; the first ${differingShown} are listed` : ''}.`,
        {
          heading: ['item', 'true', 'first predicts', 'second predicts'],
          texts: ['true', 'first predicts', 'second predicts'],
          rows: differing.slice(0, differingShown),
        },
      ],
    })),
  };
  const { html } = await pageOf(
    report,
    places.map(({ of, items, seeds, metrics }) => ({ ...of, items, seeds, metrics })),
  );
  return html;
}
