import type { ReportTable } from '../report.ts';
import { html, type Markup } from './html.ts';

/** A table whose columns the page's script makes sortable. Columns of numbers begin with one. */
export function tableMarkup({ heading, rows, texts = [], isMarked, links }: ReportTable, caption: string): Markup {
  const kind = (column: number) => (column === 0 || texts.includes(heading[column]) ? null : html` class="number"`);
  const columnWidth = (column: number) => {
    const isText = column > 0 && texts.includes(heading[column]);
    return isText
      ? html` style="min-width: ${widthOf({ texts: rows.map((cells) => cells[column]), most: 14 })}"`
      : null;
  };
  const row = ([first, ...cells]: readonly string[], index: number) => {
    const classes = [isMarked?.(index) ? 'marked' : '', first.startsWith(' ') ? 'indented' : ''].join(' ').trim();
    const name = first.trim();
    const linked = links === undefined ? name : html`<a href="${links[index]}">${name}</a>`;
    return html`<tr class="${classes}"><th scope="row">${linked}</th>${cells.map((cell, column) => html`<td${kind(column + 1)}>${kind(column + 1) === null ? cell : unbroken(cell)}</td>`)}</tr>\n`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table data-sortable style="--name: ${widthOf({ texts: rows.map(([first]) => first), most: 18 })}">
<caption class="skip">${caption}</caption>
<thead><tr>${heading.map((title, column) => html`<th scope="col"${kind(column)}${columnWidth(column)}>${title}</th>`)}</tr></thead>
<tbody>
${rows.map(row)}</tbody></table></div>
`;
}

/** Names and other texts break into a few lines, not into one for each word. */
function widthOf({ texts, most }: { texts: readonly string[]; most: number }): string {
  return `${Math.min(most, Math.max(0, ...texts.map(({ length }) => length)))}ch`;
}

/** A number in one line: only its interval may stand in the next one. */
function unbroken(number: string): string {
  return number.replace(/ (?!\[)/g, '\u00a0');
}

/** Text with the bold and the code that Markdown marks. */
export function withMarks(text: string): Markup {
  const parts = text.split(/(\*\*[^*]+\*\*|`[^`]+`)/);
  return html`${parts.map((part) => {
    if (part.startsWith('**') && part.length > 4) return html`<b>${part.slice(2, -2)}</b>`;
    return part.startsWith('`') && part.length > 2 ? html`<code>${part.slice(1, -1)}</code>` : part;
  })}`;
}

/** A confusion matrix: true labels down, predicted ones across, darker where there are more. */
export function confusionTable(options: {
  caption: string;
  labels: readonly string[];
  /** The last column is of predictions that could not be read. */
  rows: readonly (readonly number[])[];
}): Markup {
  const { caption, labels, rows } = options;
  const hasUnread = rows.some((row) => row[labels.length] > 0);
  const columns = hasUnread ? [...labels, 'not readable'] : labels;
  const cells = (row: readonly number[], gold: number) => {
    const total = row.reduce((sum, count) => sum + count, 0) || 1;
    return columns.map(
      (_, label) =>
        html`<td class="${label === gold ? 'right' : 'wrong'}" style="--share: ${(row[label] / total).toFixed(2)}">${row[label]} <small>(${((100 * row[label]) / total).toFixed(0)}%)</small></td>`,
    );
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table class="confusion">
<caption>${caption}</caption>
<thead><tr><th scope="col">true / predicted</th>${columns.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>
<tbody>${rows.map((row, gold) => html`<tr><th scope="row">${labels[gold]}</th>${cells(row, gold)}</tr>`)}</tbody></table></div>
`;
}
