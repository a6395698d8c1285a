import { counted } from '../../../src/counted.ts';
import { differencesTable } from '../../report/page/differences.ts';
import { html } from '../../report/page/html.ts';
import { renderPage } from '../../report/page/page.ts';
import { table } from '../../report/page/tables.ts';
import type { ComparedSystem } from '../../run/decisions-file.ts';
import type { DetectorComparison } from '../compare.ts';
import { repliesInWords } from '../decisions.ts';

const differingShown = 500;

/** The page of two detectors: differences after each number of replies, and the items on which they differ. */
export function compareDetectorsPage(options: {
  compared: readonly [ComparedSystem, ComparedSystem];
  comparisons: readonly DetectorComparison[];
  command: string;
}): string {
  const { compared, comparisons, command } = options;
  const [first, second] = compared;
  return renderPage({
    title: `${first.folder} against ${second.folder}`,
    introduction: html`<p><code>${first.folder}</code>, minus <code>${second.folder}</code></p>
<p class="command"><code>${command}</code></p>`,
    sections: comparisons.map(({ replies, items, metrics, pairs }, index) => {
      const differing = pairs.filter(({ left, right }) => left.predicted !== right.predicted);
      return {
        id: `comparison-${index + 1}`,
        title: `After ${repliesInWords(replies)}`,
        body: html`<p>${counted(items, 'decision')} paired; 95 % intervals by a paired bootstrap over them.</p>
${differencesTable('First minus second', metrics)}
<details><summary>${counted(differing.length, 'item')} on which they differ</summary>
${table({
  caption: differing.length > differingShown ? `The first ${differingShown}` : 'Answers',
  columns: ['item', 'is', 'first', 'second'],
  texts: ['is', 'first', 'second'],
  rows: differing
    .slice(0, differingShown)
    .map(({ left, right }) => [
      left.threadId,
      left.gold,
      left.predicted ?? 'no answer',
      right.predicted ?? 'no answer',
    ]),
})}</details>`,
      };
    }),
    data: { inspector: null, items: null },
  });
}
