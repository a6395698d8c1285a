import { readFileSync } from 'node:fs';
import { counted, grouped } from '../../src/counted.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type Chart, dots, draw, figure, quantity, silent } from '../report/page/chart.ts';
import { html, type Markup, trusted } from '../report/page/html.ts';
import { percent, signed } from '../report/shown-numbers.ts';
import type { LabelRecord } from './label-file.ts';
import type { Learnt } from './labelling.ts';

export interface LabelPage {
  readonly label: string;
  readonly classes: readonly string[];
  readonly annotator: string;
  /** Null after the last thread. */
  readonly shown: { readonly thread: Thread; readonly record: LabelRecord } | null;
  /** The last answer of this annotator; null before the first. */
  readonly last: string | null;
  readonly counts: readonly { readonly name: string; readonly count: number }[];
  readonly open: number;
  readonly agreement: { readonly threads: number; readonly kappa: number | null };
  readonly history: readonly Learnt[];
  readonly isLearning: boolean;
  readonly curve: Markup | null;
  /** Permits the page's script. */
  readonly nonce: string;
}

const style = `
.answers { position: sticky; bottom: 0; padding: 0.6rem 0; border-top: 1px solid var(--line); background: var(--paper); }
.answers form { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.answers button { min-height: 2.75rem; }
.answers .other { color: var(--quiet); }
kbd { margin-right: 0.4rem; padding: 0 0.35rem; border: 1px solid var(--line); border-radius: 0.25rem; background: var(--raised); font: 0.85em ui-monospace, monospace; }
.labelling { display: grid; grid-template-columns: minmax(0, 1fr) 21rem; gap: 1rem 2.5rem; }
.labelling aside > * { max-width: 100%; margin-bottom: 0.8rem; }
.labelling [role="status"]:empty { display: none; }
@media (max-width: 60rem) { .labelling { grid-template-columns: minmax(0, 1fr); } }
`;

/** Keys press the buttons of forms, so the page works without a script, too. */
const script = `
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const button = document.querySelector('button[data-key="' + CSS.escape(event.key.toLowerCase()) + '"]');
  if (button === null || document.body.dataset.sent === 'true') return;
  event.preventDefault();
  button.form.requestSubmit(button);
});
document.addEventListener('submit', (event) => {
  if (document.body.dataset.sent === 'true') event.preventDefault();
  document.body.dataset.sent = 'true';
});
addEventListener('pageshow', () => { document.body.dataset.sent = 'false'; });
`;

/** The page for one thread. It loads no resource and sends answers by forms. */
export function labelPage(page: LabelPage): string {
  const { label, annotator, shown, last, open, nonce } = page;
  const answered = page.counts.reduce((sum, { count }) => sum + count, 0);
  const title = `Label ${label}`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${shown === null ? title : `${shown.thread.id} · ${title}`}</title>
<style>
${trusted(readFileSync(new URL('../report/page/page.css', import.meta.url), 'utf8') + style)}</style>
</head>
<body>
<a class="skip" href="#answers">Skip to the answers</a>
<header>
<h1>${title}</h1>
<p class="quiet">${annotator} · ${grouped(answered)} answered, ${grouped(open)} left</p>
</header>
<main class="labelling">
<section class="first" aria-label="Thread">
<p role="status">${last ?? ''}</p>
${shown === null ? html`<p class="conclusion">No thread is left for you. Stop the program with Ctrl-C; it prints what to do next.</p>` : threadMarkup(shown.thread)}
<div class="answers" id="answers">${answersMarkup(page)}</div>
</section>
<aside aria-label="Progress">${progressMarkup(page)}</aside>
</main>
<script nonce="${nonce}">${trusted(script)}</script>
</body>
</html>
`.markup;
}

function threadMarkup({ id, posts }: Thread): Markup {
  const items = posts.map(
    ({ author, time, text }, index) =>
      html`<li><p class="meta"><b>${index + 1}</b> <bdi>${author ?? 'unknown author'}</bdi> ${time === null ? null : html`<time datetime="${time}">${shownTime(time)}</time>`}</p><p class="text" dir="auto">${text}</p></li>`,
  );
  return html`<h2><bdi>${id}</bdi> <span class="quiet">${posts.length === 1 ? '1 post' : `${posts.length} posts`}</span></h2>
<ol class="posts">${items}</ol>`;
}

function shownTime(time: string): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function answersMarkup({ classes, shown, last }: LabelPage): Markup {
  const button = (value: string, key: string, text: string, kind = '') =>
    html`<button class="more ${kind}" name="answer" value="${value}" data-key="${key}">${key === '' ? null : html`<kbd>${key}</kbd>`}<bdi>${text}</bdi></button>`;
  const thread =
    shown === null ? null : html`<input type="hidden" name="thread" value="${encodeURIComponent(shown.thread.id)}">`;
  const answers =
    shown === null
      ? []
      : [
          ...classes.map((name, index) => button(`class-${index + 1}`, index < 9 ? String(index + 1) : '', name)),
          button('cannot-tell', 't', 'can’t tell', 'other'),
          button('skip', 's', 'skip', 'other'),
        ];
  return html`<form method="post">${thread}${answers}${last === null ? null : button('undo', 'u', 'undo', 'other')}</form>`;
}

function progressMarkup({ counts, agreement, history, isLearning, curve }: LabelPage): Markup {
  const rows = counts.map(
    ({ name, count }) => html`<tr><th scope="row">${name}</th><td class="number">${count}</td></tr>`,
  );
  const learnt = history.at(-1);
  return html`<table><caption>Answers</caption><tbody>${rows}</tbody></table>
${agreement.kappa === null ? null : html`<p>${counted(agreement.threads, 'answer')} to a thread that was labelled before; Cohen’s kappa is ${agreement.kappa.toFixed(2)}.</p>`}
<h2>What the labels teach</h2>
<p>${learnt === undefined ? 'A detector learns from the labels once there are two of two classes, and then every ten.' : scoreInWords(learnt)}</p>
${history.length < 2 ? null : html`<p>${changeInWords(history.slice(-2))}</p>`}
${isLearning ? html`<p class="quiet">The detector is learning; go on.</p>` : null}
${curve}`;
}

function scoreInWords({ macroF1, labels, tested }: Learnt): string {
  const drawn = `Of the ${labels} labels, ${tested} test: those that were drawn at random and had no part in the choice`;
  if (macroF1 === null) return `${drawn}: too few for a score so far.`;
  return `Macro-F1 after all posts is ${macroF1.toFixed(3)} with ${labels} labels, cross-validated. ${drawn}. All train.`;
}

function changeInWords([before, last]: readonly Learnt[]): string {
  const { threads, of } = last.changed;
  const share = of === 0 ? '' : `the predictions of ${percent(threads / of)} of the unlabelled threads`;
  const score =
    before.macroF1 === null || last.macroF1 === null ? '' : `macro-F1 by ${signed(last.macroF1 - before.macroF1, 3)}`;
  const changes = [share, score].filter((text) => text !== '').join(', and ');
  return changes === '' ? '' : `The last ${last.labels - before.labels} labels changed ${changes}.`;
}

/** The chart of scores; null before the second score. */
export async function scoreCurve(history: readonly Learnt[]): Promise<Markup | null> {
  const values = history.flatMap(({ labels, macroF1 }) =>
    macroF1 === null ? [] : [{ labels, macroF1, details: `${labels} labels\nmacro-F1 ${macroF1.toFixed(3)}` }],
  );
  if (values.length < 2) return null;
  const place = {
    x: quantity('labels', { title: 'labels', scale: { zero: false }, axis: { tickCount: 5, format: 'd' } }),
    y: quantity('macroF1', { title: 'macro-F1', scale: { zero: false }, axis: { tickCount: 5, format: '.2f' } }),
  };
  const chart: Chart = {
    name: 'labels',
    title: 'Macro-F1 by labels',
    label: `Cross-validated macro-F1, ${values.map(({ labels, macroF1 }) => `${macroF1.toFixed(2)} with ${labels} labels`).join(', ')}.`,
    caption: 'It moves by chance while few labels test. Where it no longer rises, more labels bring little.',
    spec: { data: { values }, layer: [silent('line', place), dots(place, {})] },
  };
  return figure(await draw(chart));
}
