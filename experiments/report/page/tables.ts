import { html, type Markup } from './html.ts';

export type Cell = Markup | string;

/**
 * A table whose columns the page's script makes sortable. The first column names the row; the others begin with a number.
 * @param options.texts further columns that are texts, by their headings
 */
export function table(options: {
  caption: string;
  /** Where a heading above says the same. */
  isCaptionHidden?: boolean;
  columns: readonly string[];
  texts?: readonly string[];
  rows: readonly (readonly Cell[])[];
  /** Rows that stand out. */
  isMarked?: (row: number) => boolean;
  isSortable?: boolean;
}): Markup {
  const {
    caption,
    isCaptionHidden = false,
    columns,
    texts = [],
    rows,
    isMarked = () => false,
    isSortable = true,
  } = options;
  const className = (column: number) =>
    column === 0 || texts.includes(columns[column]) ? null : html` class="number"`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table${isSortable ? html` data-sortable` : null}>
<caption${isCaptionHidden ? html` class="skip"` : null}>${caption}</caption>
<thead><tr>${columns.map((title, column) => html`<th scope="col"${className(column)}>${title}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (row, index) =>
    html`<tr${isMarked(index) ? html` class="marked"` : null}>${row.map((cell, column) =>
      column === 0 ? html`<th scope="row">${cell}</th>` : html`<td${className(column)}>${cell}</td>`,
    )}</tr>
`,
)}</tbody></table></div>`;
}

/** A number as a cell; – where there is none. */
export function numberCell(value: number | null, digits = 3): string {
  return value === null ? '–' : value.toFixed(digits);
}

/** A confusion matrix: gold labels down, answers across, darker where there are more. */
export function confusionTable(options: {
  caption: string;
  labels: readonly string[];
  rows: readonly (readonly number[])[];
}): Markup {
  const { caption, labels, rows } = options;
  const hasUnread = rows.some((row) => row[labels.length] > 0);
  const columns = hasUnread ? [...labels, 'not readable'] : labels;
  return html`<table class="confusion">
<caption>${caption}</caption>
<thead><tr><th scope="col">is \\ answered</th>${columns.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>
<tbody>${rows.map((row, gold) => {
    const total = row.reduce((sum, count) => sum + count, 0) || 1;
    return html`<tr><th scope="row">${labels[gold]}</th>${columns.map(
      (_, answer) =>
        html`<td class="${answer === gold ? 'right' : 'wrong'}" style="--share: ${(row[answer] / total).toFixed(2)}">${row[answer]} <small>${(
          (100 * row[answer]) / total
        ).toFixed(0)} %</small></td>`,
    )}</tr>`;
  })}</tbody></table>`;
}
