import { counted } from '../../../src/counted.ts';
import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { differencesTable } from './differences.ts';
import { html, type Markup } from './html.ts';
import { renderPage } from './page.ts';
import { table } from './tables.ts';

/** Two systems on some items: a test and a task, say. */
export interface ComparedPlace {
  readonly title: string;
  /** Decisions paired. */
  readonly items: number;
  readonly metrics: readonly MetricInterval[];
  /** The items on which they differ: its id, what it is, and both answers. */
  readonly differing: readonly (readonly string[])[];
}

const differingShown = 500;

/** The page of two systems: at every place their differences, and the items on which they differ. */
export function comparisonPage(options: {
  title: string;
  introduction: Markup;
  command: string;
  places: readonly ComparedPlace[];
}): string {
  const { title, introduction, command, places } = options;
  return renderPage({
    title,
    introduction: html`${introduction}
<p class="command"><code>${command}</code></p>`,
    sections: places.map(({ title: of, items, metrics, differing }, index) => ({
      id: `comparison-${index + 1}`,
      title: of,
      body: html`<p>${counted(items, 'decision')} paired; 95 % intervals by a paired bootstrap over them.</p>
${differencesTable('First minus second', metrics)}
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
