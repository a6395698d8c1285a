import { readFileSync } from 'node:fs';
import type { Block, Report, ReportSection } from '../report.ts';
import { type Chart, draw, figure } from './chart.ts';
import { html, type Markup, scriptJson, trusted } from './html.ts';
import { tableMarkup, withMarks } from './table-markup.ts';

/** A page, and its charts as files that may stand beside it. */
export interface Page {
  readonly html: string;
  /** SVG by file name. */
  readonly pictures: Readonly<Record<string, string>>;
}

/**
 * A report as one HTML file that needs nothing else: style, scripts, charts and data are inside it. Its policy forbids the browser to
 * load anything, and it holds no address at all.
 * @param results what `--json` prints
 */
export async function pageOf(report: Report, results: unknown): Promise<Page> {
  const { title, conclusion, cards, tables, notes, next, facts, description, command } = report;
  const parts = await report.page();
  const about = { id: 'run', title: 'What was run', blocks: [description.trim(), { commands: [command] }] };
  const sections = [...parts.sections, ...report.sections, about];
  const pictures: Record<string, string> = {};
  const markup = (blocks: readonly Block[], caption: string) => blocksMarkup(blocks, { caption, pictures });
  const section = async ({ id, title: heading, blocks }: ReportSection) => html`
<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${heading}</h2>
${await markup(blocks, heading)}</section>`;
  const body: Markup[] = [];
  for (const each of sections) body.push(await section(each));
  const [headline, ...details] = conclusion.split(/(?<=\.) (?=\p{Lu})/u);
  const links = sections.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>`);
  const main = html`
<section id="conclusion" aria-labelledby="conclusion-title">
<h2 id="conclusion-title" class="skip">Conclusion</h2>
<div class="${parts.figures.length > 0 ? 'opening' : ''}">
<div class="first">
<p class="conclusion">${withMarks(headline)}</p>
${details.length === 0 ? null : html`<p>${withMarks(details.join(' '))}</p>`}
${cards.length === 0 ? null : html`<dl class="cards">${cards.map((card) => html`<div><dt>${card.title}</dt><dd><b>${card.value}</b> <span>${card.note}</span></dd></div>`)}</dl>`}
${await markup(tables, 'Systems')}</div>
${parts.figures.length === 0 ? null : await markup([{ figures: parts.figures }], title)}
<div class="rest">
${await markup(notes, title)}${next.length === 0 ? null : html`<h3>Next</h3>${await markup([{ commands: next }], title)}`}
</div>
</div>
</section>
<nav aria-label="Sections"><ul>${links}</ul></nav>${body}`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
${trusted(asset('page.css'))}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the conclusion</a>
<header>
<h1>${title}</h1>
<p class="quiet">${facts.join(' · ')} · <code>${command}</code></p>
</header>
<main id="main">${main}
</main>
<footer>Written by Earshot. This file is complete: it loads nothing and sends nothing.</footer>
<div id="tip" role="status" hidden></div>
<script type="application/json" id="page-data">${scriptJson({ results, ...parts.data })}</script>
<script>
'use strict';
(() => {
${trusted(scripts.map((name) => asset(`browser/${name}.js`)).join('\n'))}})();
</script>
</body>
</html>
`;
  return { html: page.markup, pictures };
}

/** Blocks one after another; their charts are drawn, and kept as pictures. */
async function blocksMarkup(
  blocks: readonly Block[],
  { caption, pictures }: { caption: string; pictures: Record<string, string> },
): Promise<Markup> {
  // One chart after another, because all share one processor.
  const drawn = async (charts: readonly Chart[]): Promise<Markup> => {
    const figures: Markup[] = [];
    for (const chart of charts) {
      const made = await draw(chart);
      pictures[`${chart.name}.svg`] = made.svg;
      figures.push(figure(made));
    }
    return html`<div class="figures">${figures}</div>`;
  };
  const made: Markup[] = [];
  for (const block of blocks)
    made.push(
      typeof block === 'object' && 'figures' in block ? await drawn(block.figures) : blockMarkup(block, caption),
    );
  return html`${made}`;
}

function blockMarkup(block: Exclude<Block, { figures: readonly Chart[] }>, caption: string): Markup {
  if (block === '') return html``;
  if (typeof block === 'string') return html`<p>${withMarks(block)}</p>\n`;
  if ('warning' in block) return html`<p class="warning">${withMarks(block.warning)}</p>\n`;
  if ('commands' in block) return html`<pre><code>${block.commands.join('\n')}</code></pre>\n`;
  return 'heading' in block ? tableMarkup(block, caption) : block;
}

/** In this order: later files use what earlier ones define. They share one scope, as the type checker sees them, too. */
const scripts = [
  'elements',
  'tables',
  'charts',
  'thread-chart',
  'transcripts',
  'thread-view',
  'inspector',
  'items',
  'start',
];

function asset(name: string): string {
  return readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');
}
