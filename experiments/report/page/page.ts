import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import type { Block, Report } from '../report.ts';
import { tableMarkup } from '../table.ts';
import { draw, figure } from './chart.ts';
import { html, type Markup, scriptJson, trusted } from './html.ts';

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
  const { title, conclusion, tables, notes, next, facts, description, command } = report;
  const pictures: Record<string, string> = {};
  const data: Record<string, unknown> = { results };
  const markupOf = async (blocks: readonly Block[], caption: string): Promise<Markup> => {
    const made: Markup[] = [];
    for (const block of blocks) {
      if (typeof block === 'object' && 'script' in block) data[block.script] = block.data;
      if (typeof block !== 'object' || !('figures' in block)) {
        made.push(blockMarkup(block, caption));
        continue;
      }
      const figures: Markup[] = [];
      // One chart after another, because all share one processor.
      for (const chart of block.figures) {
        const drawn = await draw(chart);
        pictures[`${chart.name}.svg`] = drawn.svg;
        figures.push(figure(drawn));
      }
      made.push(html`<div class="figures">${figures}</div>`);
    }
    return html`${made}`;
  };
  const about = { id: 'run', title: 'What was run', blocks: [description.trim(), { commands: [command] }] };
  const sections = [...((await report.page?.()) ?? []), ...report.sections, about];
  const body: Markup[] = [];
  for (const { id, title: heading, blocks } of sections)
    body.push(html`
<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${heading}</h2>
${await markupOf(blocks, heading)}</section>`);
  const [headline, ...details] = conclusion.split(/(?<=\.) (?=\p{Lu})/u);
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
<main id="main">
<section id="conclusion" aria-label="Conclusion">
<p class="conclusion">${withMarks(headline)}</p>
${await markupOf([details.join(' '), ...tables], 'Systems')}
${await markupOf(notes, title)}${next.length === 0 ? null : html`<h3>Next</h3>${await markupOf([{ commands: next }], title)}`}
</section>
<nav aria-label="Sections"><ul>${sections.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav>${body}
</main>
<footer>Written by Earshot. This file is complete: it loads nothing and sends nothing.</footer>
<script type="application/json" id="page-data">${scriptJson(data)}</script>
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

function blockMarkup(block: Exclude<Block, { figures: unknown }>, caption: string): Markup {
  if (block === '') return html``;
  if (typeof block === 'string') return html`<p>${withMarks(block)}</p>\n`;
  if ('warning' in block) return html`<p class="warning">${withMarks(block.warning)}</p>\n`;
  if ('commands' in block) return html`<pre><code>${block.commands.join('\n')}</code></pre>\n`;
  if ('heading' in block) return tableMarkup(block, caption);
  return html`<noscript><p class="warning">This is drawn by a script inside the file; allow it to run.</p></noscript>
<div id="${block.script}"></div>
`;
}

/** Text with the bold and the code that Markdown marks. */
function withMarks(text: string): Markup {
  const parts = text.split(/(\*\*[^*]+\*\*|`[^`]+`)/);
  return html`${parts.map((part) => {
    if (part.startsWith('**') && part.length > 4) return html`<b>${part.slice(2, -2)}</b>`;
    return part.startsWith('`') && part.length > 2 ? html`<code>${part.slice(1, -1)}</code>` : part;
  })}`;
}

/** In this order: later files use what earlier ones define. They share one scope, as the type checker sees them, too. */
const scripts = ['elements', 'transcripts', 'thread-view', 'inspector', 'items', 'start'];

function asset(name: string): string {
  return readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');
}

/**
 * Writes a page, and its charts as SVG into a folder beside it: `report.html` and `report-pictures/`. SVG files of an earlier
 * page of that name are removed from it.
 * @throws InputError where the disk refuses
 */
export function writePage(path: string, page: Page): void {
  const folder = `${path.replace(/\.html?$/i, '')}-pictures`;
  const earlier = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.svg')) : [];
  for (const name of earlier) rmSync(join(folder, name), { recursive: true });
  for (const [name, svg] of Object.entries(page.pictures)) writeFileAtomically(join(folder, name), svg);
  writeFileAtomically(path, page.html);
}
