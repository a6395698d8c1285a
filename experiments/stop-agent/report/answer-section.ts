import { type DrawnChart, figure } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import type { Answer } from './answer.ts';

/** What a page opens with: what one gets, the verdict, the table of the terminal, the front, and what to run next. */
export function answerSection(answer: Answer, front: DrawnChart): Markup {
  const {
    reading,
    verdict,
    recommended,
    promises,
    table: [heading, ...rows],
    legend,
    choice,
    next,
  } = answer;
  return html`${reading === null ? null : html`<p class="reading">${reading}</p>`}
<p><b>Verdict:</b> ${verdict}</p>
<p>${recommended.sentence}</p>
${promises.map((promise) => html`<p><b>Promise:</b> ${promise}</p>`)}
<div class="pair answer">
<div>
<div class="scroll" tabindex="0" role="region" aria-label="Agents, the best first, and the rules beside them"><table class="answer">
<thead><tr>${heading.map((title, column) => html`<th scope="col"${column === 0 ? null : html` class="number"`}>${title}</th>`)}</tr></thead>
<tbody>
${rows.map(
  ([first, ...cells]) =>
    html`<tr${first.startsWith(' ') ? html` class="rule"` : null}><th scope="row">${first.trim()}</th>${cells.map((cell) => html`<td class="number">${cell}</td>`)}</tr>
`,
)}</tbody></table></div>
<p class="facts">${legend} ${choice}</p>
${
  next.length === 0
    ? html`<p>Every agent collapsed to a fixed rule, so there is none to go on with; <a href="#training">what to change</a> is said below.</p>`
    : html`<p>Next:</p><p class="command next"><code>${next.join('\n')}</code></p>`
}
</div>
${figure(
  front,
  'Macro-F1 against ER; up and to the left is better. Diamonds are agents with 95 % intervals, dots the rules. Mixing two rules by chance reaches the dashed line; an agent is worth its training above it. Hover, or focus the chart and use the arrow keys.',
)}
</div>`;
}
