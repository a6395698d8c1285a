import { counted } from '../../../src/counted.ts';
import { differencesTable } from '../../report/page/differences.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { renderPage } from '../../report/page/page.ts';
import { table } from '../../report/page/tables.ts';
import type { ComparedSystem, Paired } from '../../run/decisions-file.ts';
import { type SelectorDecision, taskClasses } from '../decisions.ts';
import { pairedTestDecisions, type SelectorComparison } from '../scores.ts';

const differingShown = 500;

/** The page of two systems of selector runs: differences on every test and task, and the items on which they differ. */
export function compareSelectorsPage(options: {
  compared: readonly [ComparedSystem, ComparedSystem];
  comparisons: readonly SelectorComparison[];
  command: string;
}): string {
  const { compared, comparisons, command } = options;
  const [first, second] = compared;
  const pairs = pairedTestDecisions(first, second);
  return renderPage({
    title: `${first.system} against ${second.system}`,
    introduction: html`<p><b>${first.system}</b> of <code>${first.folder}</code>, minus <b>${second.system}</b> of <code>${second.folder}</code></p>
<p class="command"><code>${command}</code></p>`,
    sections: comparisons.map(({ test, task, items, metrics }, index) => ({
      id: `comparison-${index + 1}`,
      title: `${test}: ${task}`,
      body: html`<p>${counted(items, 'decision')} paired; 95 % intervals by a paired bootstrap over them.</p>
${differencesTable('First minus second', metrics)}
${differing(
  pairs.filter(({ left }) => left.test === test && left.task === task),
  taskClasses[task],
)}`,
    })),
    data: { inspector: null, items: null },
  });
}

function differing(pairs: readonly Paired<SelectorDecision>[], classes: readonly string[]): Markup {
  const own = pairs.filter(({ left, right }) => left.predicted !== right.predicted);
  return html`<details><summary>${own.length} items on which they differ</summary>
${table({
  caption: own.length > differingShown ? `The first ${differingShown}` : 'Answers',
  columns: ['item', 'is', 'first', 'second'],
  texts: ['is', 'first', 'second'],
  rows: own
    .slice(0, differingShown)
    .map(({ left, right }) => [left.id, classes[left.gold], classes[left.predicted], classes[right.predicted]]),
})}</details>`;
}
