import { type DrawnChart, figure } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { numberCell, table } from '../../report/page/tables.ts';
import type { PlottedSystem } from './operating-points.ts';

/** Both fronts, and their numbers. */
export function frontSection(systems: readonly PlottedSystem[], charts: readonly DrawnChart[]): Markup {
  const interval = ({ intervals }: PlottedSystem, aim: 'macroF1' | 'er') =>
    intervals === null ? '' : `${intervals[aim].low.toFixed(3)} to ${intervals[aim].high.toFixed(3)}`;
  return html`<p>Up and to the left is better. Diamonds are the trained agents with their 95 % intervals (bootstrap over seeds and threads), grey dots the rules; mixing two rules by chance reaches every point of the dashed line. An agent is worth its training where it stands above that line.</p>
<div class="pair">
${figure(charts[0], 'Macro-F1 against ER. Hover, or focus the chart and use the arrow keys: name, numbers, and the command that shows it again.')}
${figure(charts[1], 'Macro-F1 against calls of the detector: what a system costs where judgements are paid for.')}
</div>
<details><summary>The numbers of ${systems.length} systems</summary>
${table({
  caption: 'Every agent and rule, means over seeds',
  columns: [
    { title: 'system' },
    { title: 'macro-F1', isNumber: true },
    { title: '95 %', isNumber: true },
    { title: 'ER', isNumber: true },
    { title: '95 %', isNumber: true },
    { title: 'calls a thread', isNumber: true },
  ],
  rows: systems.map((system) => [
    system.name,
    numberCell(system.macroF1),
    interval(system, 'macroF1'),
    numberCell(system.er),
    interval(system, 'er'),
    system.kind === 'bound' ? numberCell(null) : numberCell(system.calls, 1),
  ]),
  isMarked: (row) => systems[row].kind === 'agent',
})}</details>`;
}
