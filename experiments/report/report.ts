import { withoutHtml } from '../../src/markdown-text.ts';
import type { Chart } from './page/chart.ts';
import type { PageData } from './page/page-data.ts';
import { type Table, tableText, terminalTable } from './table.ts';
import { wrapped } from './terminal-text.ts';

/*
 * What finished runs came to. A terminal, `report.md` and `report.html` show the same one, in the same order: the conclusion, the
 * tables that it rests on, notes, what to do next. Sections follow in Markdown and on the page.
 */

/** A paragraph, with `**bold**` and code as in Markdown. */
export type Paragraph = string | { readonly warning: string };

/** A part of the page that its script builds from data. */
export type Scripted = {
  [Name in Exclude<keyof PageData, 'results'>]: { readonly script: Name; readonly data: PageData[Name] };
}[Exclude<keyof PageData, 'results'>];

/** Figures and what a script builds are for a page alone. */
export type Block =
  | Paragraph
  | { readonly commands: readonly string[] }
  | Table
  | { readonly figures: readonly Chart[] }
  | Scripted;

export interface ReportSection {
  /** Anchor on a page: letters, digits and hyphens. */
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export interface Report {
  readonly title: string;
  /** In one sentence, with its number. */
  readonly conclusion: string;
  readonly tables: readonly Table[];
  readonly notes: readonly Paragraph[];
  /** Commands that a reader may want next. */
  readonly next: readonly string[];
  /** Where it comes from: date, version, data set and the like. */
  readonly facts: readonly string[];
  readonly description: string;
  readonly command: string;
  readonly sections: readonly ReportSection[];
  /** Sections of a page alone, which stand before the others. */
  page?(): Promise<readonly ReportSection[]>;
}

export function markdownOf(report: Report): string {
  const { title, conclusion } = report;
  const all = sectionsOf(report).flatMap((section) => [`## ${section.title}`, ...section.blocks]);
  const blocks: Block[] = [`# ${title}`, `**${conclusion}**`, ...summaryOf(report), ...all];
  return `${blocks.flatMap(markdownBlock).join('\n\n')}\n`;
}

/** Nothing for what only a page shows. */
function markdownBlock(block: Block): string[] {
  if (typeof block === 'string') return block === '' ? [] : [withoutHtml(block)];
  if ('warning' in block) return [`**Warning:** ${withoutHtml(block.warning)}`];
  if ('commands' in block) return [['```sh', ...block.commands, '```'].join('\n')];
  return 'heading' in block ? [tableText(block)] : [];
}

/** The conclusion with its tables and notes. */
export function screenOf({ title, conclusion, tables, notes }: Report): Block[] {
  return [`${title}: ${conclusion}`, ...tables, ...notes];
}

/** A whole report for a terminal. */
export function screenOfAll(report: Report): Block[] {
  const sections = sectionsOf(report).flatMap(({ title, blocks }) => [`── ${title} ──`, ...blocks]);
  return [`${report.title}: ${report.conclusion}`, ...summaryOf(report), ...sections];
}

/** Paragraphs and tables as a terminal shows them, an empty line between them. */
export function screenText(blocks: readonly Block[], { width }: { width: number }): string {
  return `${blocks.flatMap((block) => terminalBlock(block, width)).join('\n\n')}\n`;
}

function terminalBlock(block: Block, width: number): string[] {
  if (typeof block === 'string') return block === '' ? [] : [wrapped(withoutMarks(block), { width })];
  if ('warning' in block) return [wrapped(`Warning: ${block.warning}`, { width })];
  if ('commands' in block) return [block.commands.map((command) => `  ${command}`).join('\n')];
  return 'heading' in block ? [terminalTable(block, { width })] : [];
}

function withoutMarks(text: string): string {
  return text.replace(/\*\*([^*]+)\*\*/g, '$1');
}

function summaryOf({ tables, notes, next }: Report): Block[] {
  return [...tables, ...notes, ...(next.length === 0 ? [] : ['Next:', { commands: next }])];
}

function sectionsOf({ description, facts, command, sections }: Report): ReportSection[] {
  const run = [description.trim(), `${facts.join(' · ')}.`, { commands: [command] }];
  return [{ id: 'run', title: 'What was run', blocks: run }, ...sections];
}
