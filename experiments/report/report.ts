import { markdownText, withoutHtml } from '../../src/markdown-text.ts';
import type { ScreenBlock } from './narrow-table.ts';
import { numbersTable } from './numbers-table.ts';
import type { Chart } from './page/chart.ts';
import type { Markup } from './page/html.ts';
import type { PageData } from './page/page-data.ts';

/*
 * What finished runs came to. A terminal, `report.md` and `report.html` show the same one, in the same order: the conclusion, the
 * tables that it rests on, notes, what to do next. Sections follow in Markdown and on the page.
 */

/**
 * The columns are numbers, except the first and those named in `texts`. A first cell that begins with spaces is indented. Cells are plain
 * text: nothing in them is a mark of Markdown or HTML, as names of classes and texts of posts may stand there.
 */
export interface ReportTable {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly texts?: readonly string[];
  /** Rows that stand out on a page. */
  readonly isMarked?: (row: number) => boolean;
  /** Where the first cell of a row leads within the page: an anchor, such as `#threads`. */
  readonly links?: readonly string[];
}

/** A paragraph, with `**bold**` and code as in Markdown. */
export type Paragraph = string | { readonly warning: string };

/** Figures and markup are for a page alone. */
export type Block =
  | Paragraph
  | { readonly commands: readonly string[] }
  | ReportTable
  | { readonly figures: readonly Chart[] }
  | Markup;

export interface ReportSection {
  /** Anchor on a page: letters, digits and hyphens. */
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

/** A number that a page shows large. */
export interface Card {
  readonly title: string;
  readonly value: string;
  readonly note: string;
}

/** What a page shows besides: figures beside the tables, sections before the others, and what its script reads. */
export interface PageParts {
  readonly figures: readonly Chart[];
  readonly sections: readonly ReportSection[];
  readonly data: Omit<PageData, 'results'>;
}

export interface Report {
  readonly title: string;
  /** In one sentence, with its number. */
  readonly conclusion: string;
  readonly cards: readonly Card[];
  readonly tables: readonly ReportTable[];
  readonly notes: readonly Paragraph[];
  /** Commands that a reader may want next. */
  readonly next: readonly string[];
  /** Where it comes from: date, version, data set and the like. */
  readonly facts: readonly string[];
  readonly description: string;
  readonly command: string;
  readonly sections: readonly ReportSection[];
  page(): Promise<PageParts>;
}

export const noParts: PageParts = { figures: [], sections: [], data: { inspector: null, items: null } };

export function markdownOf(report: Report): string {
  const { title, conclusion, tables, notes, next, facts, description, command, sections } = report;
  const run = [description.trim(), `${facts.join(' · ')}.`, { commands: [command] }];
  const all = [{ id: 'run', title: 'What was run', blocks: run }, ...sections];
  const blocks: Block[] = [
    `# ${title}`,
    `**${conclusion}**`,
    ...tables,
    ...notes,
    ...(next.length === 0 ? [] : ['Next:', { commands: next }]),
    ...all.flatMap((section) => [`## ${section.title}`, ...section.blocks]),
  ];
  return `${blocks.flatMap(blockText).join('\n\n')}\n`;
}

/** Nothing for what only a page shows. */
function blockText(block: Block): string[] {
  if (typeof block === 'string') return block === '' ? [] : [withoutHtml(block)];
  if ('warning' in block) return [`**Warning:** ${withoutHtml(block.warning)}`];
  if ('commands' in block) return [['```sh', ...block.commands, '```'].join('\n')];
  return 'heading' in block ? [tableText(block)] : [];
}

/** A table in Markdown. */
export function tableText({ heading, rows, isMarked, links: _, ...options }: ReportTable): string {
  // Markdown drops the spaces that indent a row.
  const named = rows.map(([first, ...cells], row) => [
    isMarked?.(row) ? `**${markdownText(first)}**` : markdownText(first).replace(/^ +/, '– '),
    ...cells.map(markdownText),
  ]);
  const texts = options.texts?.map(markdownText);
  return numbersTable(heading.map(markdownText), named, { ...options, ...(texts !== undefined && { texts }) });
}

/** What a terminal shows. */
export function screenOf({ title, conclusion, tables, notes }: Report): ScreenBlock[] {
  return [
    `${title}: ${conclusion}`,
    ...tables.map(({ heading, rows }) => [heading, ...rows]),
    ...notes.map((note) => (typeof note === 'string' ? note : `Warning: ${note.warning}`)),
  ];
}
