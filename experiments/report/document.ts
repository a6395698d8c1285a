import { numbersTable } from './numbers-table.ts';

/*
 * A report as paragraphs and tables: `report.md` and the numbers of a page are made of the same ones.
 */

/** The columns are numbers, but for the first and those named in `texts`. */
export interface ReportTable {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly texts?: readonly string[];
  /** Rows that stand out on a page. */
  readonly isMarked?: (row: number) => boolean;
}

/** A paragraph, with `**bold**` and code as in Markdown; a command; what a reader must mind, without its full stop; a table. */
export type Block = string | { readonly command: string } | { readonly warning: string } | ReportTable;

export interface ReportSection {
  /** Anchor on a page; letters, digits and hyphens. */
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export interface ReportDocument {
  readonly title: string;
  /** Stands before the first section. */
  readonly lead: readonly Block[];
  readonly sections: readonly ReportSection[];
}

/** A description as a paragraph; none where it is empty. */
export function described(description: string): string[] {
  return description.trim() === '' ? [] : [description.trim()];
}

export function markdownOf({ title, lead, sections }: ReportDocument): string {
  const all = sections.flatMap((section) => [`## ${section.title}`, ...section.blocks.map(blockText)]);
  return `${[`# ${title}`, ...lead.map(blockText), ...all].join('\n\n')}\n`;
}

function blockText(block: Block): string {
  if (typeof block === 'string') return block;
  if ('command' in block) return `Command: \`${block.command}\``;
  return 'warning' in block ? `**Mind:** ${block.warning}.` : numbersTable(block.heading, block.rows, block);
}
