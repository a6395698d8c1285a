import type { Block, ReportDocument, ReportTable } from '../document.ts';
import { html, type Markup } from './html.ts';
import { type PageSection, renderPage } from './page.ts';
import { table } from './tables.ts';

/** What a page has beside the report. */
interface BesideReport {
  /** Above the blocks of a section, such as charts, by its id. */
  readonly above?: Readonly<Record<string, Markup>>;
  /** Behind the sections of the report. */
  readonly further?: readonly PageSection[];
}

/** The sections of a report as those of a page. */
export function pageSections(
  { sections }: Pick<ReportDocument, 'sections'>,
  { above = {}, further = [] }: BesideReport = {},
): PageSection[] {
  const own = sections.map(({ id, title, blocks }) => ({
    id,
    title,
    body: html`${above[id] ?? null}${blocksMarkup(blocks, title)}`,
  }));
  return [...own, ...further];
}

/** A report as a page. */
export function documentPage(document: ReportDocument, beside: BesideReport = {}): string {
  return renderPage({
    title: document.title,
    introduction: blocksMarkup(document.lead, document.title),
    sections: pageSections(document, beside),
    data: { inspector: null, items: null },
  });
}

/** @param caption of the tables */
export function blocksMarkup(blocks: readonly Block[], caption: string): Markup {
  return html`${blocks.map((block) => {
    if (typeof block === 'string') return html`<p>${inline(block)}</p>\n`;
    if ('command' in block) return html`<p class="command"><code>${block.command}</code></p>\n`;
    return 'warning' in block ? html`<p class="warning">${block.warning}.</p>\n` : tableMarkup(block, caption);
  })}`;
}

export function tableMarkup({ heading, rows, ...options }: ReportTable, caption: string): Markup {
  return table({
    ...options,
    caption,
    isCaptionHidden: true,
    columns: heading,
    rows: rows.map((row) => row.map(inline)),
  });
}

/** Bold text and code of Markdown. */
function inline(text: string): Markup {
  const parts = text.split(/(\*\*[^*]+\*\*|`[^`]+`)/);
  return html`${parts.map((part) => {
    if (part.startsWith('**')) return html`<b>${part.slice(2, -2)}</b>`;
    return part.startsWith('`') ? html`<code>${part.slice(1, -1)}</code>` : part;
  })}`;
}
