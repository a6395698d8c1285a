import { markdownTable } from 'markdown-table';
import { markdownText } from '../../src/markdown-text.ts';
import { html, type Markup } from './page/html.ts';
import { type Estimate, type NumberFormat, percent, shown } from './shown-numbers.ts';
import { summaryWidth, visibleText, wrapped } from './terminal-text.ts';

/*
 * A table, and its printer for each medium: a terminal, a file of Markdown, a page.
 */

/**
 * The columns are numbers, except the first and those named in `texts`. A first cell that begins with spaces is indented. Cells are plain
 * text: nothing in them is a mark of Markdown or HTML, as names of classes and texts of posts may stand there.
 */
export interface Table {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly texts?: readonly string[];
  /** Rows that stand out in Markdown and on a page. */
  readonly isMarked?: (row: number) => boolean;
}

function isText({ heading, texts = [] }: Table, column: number): boolean {
  return column === 0 || texts.includes(heading[column]);
}

/** As wide as its cells where there is room for that. Otherwise, cells go on in the next line: nothing is cut. */
export function terminalTable(table: Table, { width = summaryWidth }: { width?: number } = {}): string {
  const visible = (cell: string) => visibleText(cell.replace(/\s/g, ' '));
  const numbersWhole = (row: readonly string[]) =>
    row.map((cell, column) => (isText(table, column) ? visible(cell) : unbroken(visible(cell))));
  const cells = [table.heading.map(visible), ...table.rows.map(numbersWhole)];
  const widths = columnWidths(table, { cells, width });
  const printed = cells.map((row) => {
    const columns = row.map((cell, column) => brokenCell(cell, widths[column]));
    const height = Math.max(...columns.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) => {
      const parts = columns.map((lines, column) => {
        const text = (lines[line] ?? '').replaceAll('\u00a0', ' ');
        const padding = ' '.repeat(widths[column] - size(text));
        return isText(table, column) ? text + padding : padding + text;
      });
      return parts.join(gap).trimEnd();
    }).join('\n');
  });
  return [printed[0], '─'.repeat(widthOf(widths)), ...printed.slice(1)].join('\n');
}

const gap = '  ';
/** Characters that a column of texts keeps; longer words break. */
const [shortestText, longestText] = [12, 24];

function columnWidths(table: Table, { cells, width }: { cells: string[][]; width: number }): number[] {
  const columns = table.heading.map((_, column) => cells.map((row) => row[column]));
  const widths = columns.map((column) => Math.max(...column.map(size)));
  // First headings break, then texts, then numbers before their intervals.
  for (const broken of [[], ['text'], ['text', 'number']]) {
    const floor = columns.map(([title, ...column], place) => {
      const kind = isText(table, place) ? 'text' : 'number';
      const isBroken = broken.includes(kind);
      const least = Math.max(longestWord(title), ...column.map(isBroken ? longestWord : size));
      return kind === 'text' && isBroken ? Math.min(longestText, Math.max(shortestText, least)) : least;
    });
    for (let over = widthOf(widths) - width; over > 0; over--) {
      const [widest] = [...widths.keys()].filter((at) => widths[at] > floor[at]).sort((a, b) => widths[b] - widths[a]);
      if (widest === undefined) break;
      widths[widest]--;
    }
  }
  return widths;
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
}

/** Code points, because a character outside the basic plane counts two in `length`. */
function size(text: string): number {
  return [...text].length;
}

function longestWord(text: string): number {
  return Math.max(...text.split(' ').map(size));
}

/** Lines of a cell. What goes on is indented as its first line is; words break only where a line has no room for one. */
function brokenCell(cell: string, width: number): string[] {
  const [indent] = /^ */.exec(cell) ?? [''];
  const room = Math.max(1, width - indent.length);
  const words = cell.trim().split(' ');
  const broken = words.flatMap((word) => (size(word) <= room ? [word] : (word.match(pieces(room)) ?? [])));
  return wrapped(broken.join(' '), { width: room })
    .split('\n')
    .map((line) => indent + line);
}

function pieces(length: number): RegExp {
  return new RegExp(`.{1,${length}}`, 'gu');
}

/** A table in Markdown. */
export function tableText(table: Table): string {
  const { heading, rows, isMarked } = table;
  const align = heading.map((_, column) => (isText(table, column) ? 'l' : 'r'));
  // Markdown drops the spaces that indent a row.
  const named = rows.map(([first, ...cells], row) => [
    isMarked?.(row) ? `**${markdownText(first)}**` : markdownText(first).replace(/^ +/, '– '),
    ...cells.map(markdownText),
  ]);
  return markdownTable([heading.map(markdownText), ...named], { align });
}

/** A table whose columns the page's script makes sortable. Columns of numbers begin with the largest. */
export function tableMarkup(table: Table, caption: string): Markup {
  const { heading, rows, isMarked } = table;
  const kind = (column: number) => (isText(table, column) ? null : html` class="number"`);
  const row = ([first, ...cells]: readonly string[], index: number) => {
    const classes = [isMarked?.(index) ? 'marked' : '', first.startsWith(' ') ? 'indented' : ''].join(' ').trim();
    const others = cells.map((cell, place) =>
      isText(table, place + 1) ? html`<td>${cell}</td>` : html`<td class="number">${unbroken(cell)}</td>`,
    );
    return html`<tr class="${classes}"><th scope="row">${first.trim()}</th>${others}</tr>\n`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption class="skip">${caption}</caption>
<thead><tr>${heading.map((title, column) => html`<th scope="col"${kind(column)}>${title}</th>`)}</tr></thead>
<tbody>
${rows.map(row)}</tbody></table></div>
`;
}

/** A number in one line: only its interval may stand in the next one. */
function unbroken(number: string): string {
  return number.replace(/ (?!\[)/g, '\u00a0');
}

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
): Table {
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

/**
 * A confusion matrix: true labels down, predicted ones across.
 * @param counts rows of true labels; the last column is of predictions that could not be read
 */
export function confusionTable(labels: readonly string[], counts: readonly (readonly number[])[]): Table {
  const isUnread = counts.some((row) => row[labels.length] > 0);
  const cell = (count: number, row: readonly number[]) =>
    `${count} (${percent(
      count /
        Math.max(
          1,
          row.reduce((sum, count) => sum + count, 0),
        ),
    )})`;
  return {
    heading: ['true / predicted', ...labels, ...(isUnread ? ['not readable'] : [])],
    rows: counts.map((row, gold) => [
      labels[gold],
      ...row.slice(0, labels.length + (isUnread ? 1 : 0)).map((count) => cell(count, row)),
    ]),
  };
}
