import { readFileSync } from 'node:fs';
import { html, type Markup, scriptJson, trusted } from './html.ts';
import type { PageData } from './page-data.ts';

export interface PageSection {
  /** Anchor; letters and hyphens. */
  readonly id: string;
  readonly title: string;
  readonly body: Markup;
}

/** A page, and its charts as files that may stand beside it. */
export interface Page {
  readonly html: string;
  /** SVG by file name. */
  readonly pictures: Readonly<Record<string, string>>;
}

/**
 * One HTML file that needs nothing else: style, scripts, charts and data are inside it. Its policy forbids the browser to load
 * anything, and it holds no address at all.
 */
export function renderPage(page: {
  title: string;
  /** Stands below the title. */
  introduction: Markup;
  sections: readonly PageSection[];
  /** Stands after the first section, and stays in view: what the sections below are about. */
  choice?: Markup | null;
  data: PageData;
}): string {
  const { title, introduction, sections, choice = null, data } = page;
  return html`<!doctype html>
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
<a class="skip" href="#main">Skip to the results</a>
<header class="top">
<h1>${title}</h1>
${introduction}
<nav aria-label="Sections"><ul>${sections.map((section) => html`<li><a href="#${section.id}">${section.title}</a></li>`)}</ul></nav>
</header>
<main id="main">
${sections.map(
  (
    section,
    index,
  ) => html`${index === 1 ? choice : null}<section id="${section.id}" aria-labelledby="${section.id}-title">
<h2 id="${section.id}-title">${section.title}</h2>
${section.body}
</section>
`,
)}</main>
<footer>Written by Earshot. This file is complete: it loads nothing and sends nothing.</footer>
<div id="tip" role="status" hidden></div>
<script type="application/json" id="page-data">${scriptJson(data)}</script>
<script>
'use strict';
(() => {
${trusted(scriptFiles.map((name) => asset(`browser/${name}`)).join('\n'))}})();
</script>
</body>
</html>
`.markup;
}

/** In this order: later files use what earlier ones define. They share one scope, as the type checker sees them, too. */
const scriptFiles = [
  'elements.js',
  'tables.js',
  'charts.js',
  'choice.js',
  'thread-chart.js',
  'thread-view.js',
  'inspector.js',
  'items.js',
  'start.js',
];

function asset(name: string): string {
  return readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');
}
