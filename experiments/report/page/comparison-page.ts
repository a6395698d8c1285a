import { counted } from '../../../src/counted.ts';
import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { isMeasurable, signed } from '../shown-numbers.ts';
import { html, type Markup } from './html.ts';
import { renderPage } from './page.ts';
import { table } from './tables.ts';

/** Two systems on some items: a test and a task, say. */
export interface ComparedPlace {
  readonly title: string;
  /** What tells it apart, in JSON. */
  readonly of: Readonly<Record<string, string | number>>;
  /** Decisions paired. */
  readonly items: number;
  readonly seeds: number;
  /** First minus second, mean over seeds. */
  readonly metrics: readonly MetricInterval[];
  /** The items on which they differ: its id, what it is, and both answers. */
  readonly differing: readonly (readonly string[])[];
}

const differingShown = 500;

/** The page of two systems: at every place their differences, and the items on which they differ. */
export function comparisonPage(options: {
  /** Of the first and the second; a system is null where the folder says all. */
  names: readonly { readonly system: string | null; readonly folder: string }[];
  command: string;
  places: readonly ComparedPlace[];
}): string {
  const { names, command, places } = options;
  const marked = names.map(({ system, folder }) =>
    system === null ? html`<code>${folder}</code>` : html`<b>${system}</b> of <code>${folder}</code>`,
  );
  return renderPage({
    title: names.map(({ system, folder }) => system ?? folder).join(' against '),
    introduction: html`<p>${marked[0]}, minus ${marked[1]}</p>
<p class="command"><code>${command}</code></p>`,
    sections: places.map(({ title: of, items, metrics, differing }, index) => ({
      id: `comparison-${index + 1}`,
      title: of,
      body: html`<p>${counted(items, 'decision')} paired; 95 % intervals by a paired bootstrap over them.</p>
${differencesTable(metrics)}
<details><summary>${counted(differing.length, 'item')} on which they differ</summary>
${table({
  caption: differing.length > differingShown ? `The first ${differingShown}` : 'Answers',
  columns: ['item', 'is', 'first', 'second'],
  texts: ['is', 'first', 'second'],
  rows: differing.slice(0, differingShown),
})}</details>`,
    })),
    data: { inspector: null, items: null },
  });
}

/** Those that leave out 0 stand out. */
function differencesTable(metrics: readonly MetricInterval[]): Markup {
  return table({
    caption: 'First minus second',
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
