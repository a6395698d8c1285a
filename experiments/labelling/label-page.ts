import { readFileSync } from 'node:fs';
import { fewestInFolds } from '../../experts/detectors/local/training-labels.ts';
import { counted, grouped } from '../../src/counted.ts';
import type { Task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { present } from '../../src/present.ts';
import { type Chart, dots, draw, figure, quantity, silent } from '../report/page/chart.ts';
import { html, type Markup, trusted } from '../report/page/html.ts';
import { percent, signed } from '../report/shown-numbers.ts';
import { learnEvery, randomStart } from './choose.ts';
import { type Answers, agreement, lastOf } from './label-file.ts';
import type { Learnt } from './labelling.ts';

export interface LabelPage {
  readonly task: Task;
  readonly annotator: string;
  /** Null after the last thread. */
  readonly thread: Thread | null;
  readonly answers: Answers;
  /** The number of unanswered threads. */
  readonly open: number;
  readonly history: readonly Learnt[];
  readonly isLearning: boolean;
  readonly curve: Markup | null;
  /** Permits the page's script. */
  readonly nonce: string;
}

const style = `
body { display: flex; flex-direction: column; min-height: 100vh; padding-bottom: 0; }
header { display: flex; flex-wrap: wrap; align-items: baseline; column-gap: 1rem; }
.labelling { flex: 1; display: grid; grid-template-columns: minmax(0, 1fr) 23rem; gap: 1rem 2.5rem; }
.labelling section { display: flex; flex-direction: column; margin-top: 0; }
/* At the bottom of the window, also below a short thread. */
.answers { position: sticky; bottom: 0; margin-top: auto; padding: 0.6rem 0; border-top: 1px solid var(--line); background: var(--paper); }
.answers form { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.answers button { min-height: 2.75rem; }
.answers .other { color: var(--quiet); }
kbd { margin-right: 0.4rem; padding: 0 0.35rem; border: 1px solid var(--line); border-radius: 0.25rem; background: var(--raised); font: 0.85em ui-monospace, monospace; }
.labelling aside > * { max-width: 100%; margin-bottom: 0.8rem; }
.labelling [role="status"]:empty { display: none; }
@media (max-width: 60rem) { .labelling { grid-template-columns: minmax(0, 1fr); } }
`;

const wordsOf: Readonly<Record<string, string>> = { 'cannot-tell': 'can’t tell', skip: 'passed over' };

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
  const { task, annotator, thread, answers, open, nonce } = page;
  const title = `Label ${task.name}`;
  const last = lastOf(annotator, answers);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${thread === null ? title : `${thread.id} · ${title}`}</title>
<style>
${trusted(readFileSync(new URL('../report/page/page.css', import.meta.url), 'utf8') + style)}</style>
</head>
<body>
<a class="skip" href="#answers">Skip to the answers</a>
<header>
<h1>${title}</h1>
<p class="quiet">${annotator} · ${grouped(answers.classOf.size)} answered, ${grouped(open)} left</p>
</header>
<main class="labelling">
<section class="first" aria-label="Thread">
<p role="status">${last === null ? '' : `Saved: ${last.thread} · ${last.class ?? wordsOf[last.kind]}`}</p>
${thread === null ? html`<p class="conclusion">No thread is left for you. Stop the program with Ctrl-C; it prints what to do next.</p>` : threadMarkup(thread)}
<div class="answers" id="answers">${answersMarkup(page, { hasLast: last !== null })}</div>
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
  return html`<h2><bdi>${id}</bdi> <span class="quiet">${counted(posts.length, 'post')}</span></h2>
<ol class="posts">${items}</ol>`;
}

function shownTime(time: string): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function answersMarkup({ task, thread }: LabelPage, { hasLast }: { hasLast: boolean }): Markup {
  const button = (value: string, key: string, text: string, kind = 'other') =>
    html`<button class="more ${kind}" name="answer" value="${value}" data-key="${key}">${key === '' ? null : html`<kbd>${key}</kbd>`}<bdi>${text}</bdi></button>`;
  const ofThread =
    thread === null
      ? null
      : html`<input type="hidden" name="thread" value="${encodeURIComponent(thread.id)}">
${task.labels.map((name, index) => button(`class-${index + 1}`, index < 9 ? String(index + 1) : '', name, ''))}
${button('cannot-tell', 't', 'can’t tell')}${button('skip', 's', 'skip')}`;
  return html`<form method="post">${ofThread}${hasLast ? button('undo', 'u', 'undo') : null}</form>`;
}

function progressMarkup({ task, answers, open, history, isLearning, curve }: LabelPage): Markup {
  const classes = [...answers.classOf.values()];
  const row = (name: string, count: number) =>
    html`<tr><th scope="row">${name}</th><td class="number">${count}</td></tr>`;
  const countOf = (label: string | null) => classes.filter((each) => each === label).length;
  const { threads, kappa } = agreement(answers);
  return html`<table><caption>Answers</caption><tbody>${task.labels.map((name) => row(name, countOf(name)))}${row('can’t tell', countOf(null))}</tbody></table>
${kappa === null ? null : html`<p>${counted(threads, 'answer')} to a thread that was labelled before; Cohen’s kappa is ${kappa.toFixed(2)}.</p>`}
<h2>What the labels teach</h2>
<p>${history.length === 0 ? `A detector learns every ${learnEvery} labels, and is scored here from then on.` : scoreInWords(history[history.length - 1])}</p>
${drawsAtRandom(history) && open > 0 ? html`<p>The detector hardly agrees with people on labels that it did not learn from, so every thread is drawn at random.</p>` : null}
${history.length < 2 ? null : html`<p>${changeInWords(history.slice(-2))}</p>`}
${isLearning ? html`<p class="quiet">The detector is learning; go on.</p>` : null}
${curve}`;
}

function drawsAtRandom(history: readonly Learnt[]): boolean {
  const last = history.at(-1);
  return last !== undefined && last.labels >= randomStart && last.ranking.length === 0;
}

function scoreInWords({ macroF1, labels, tested }: Learnt): string {
  const drawn = `Of the ${labels} labels, ${tested} test: those that were drawn at random and had no part in the choice`;
  if (macroF1 === null) return `${drawn}: too few for a score so far.`;
  return `Macro-F1 after all posts is ${macroF1.toFixed(3)} with ${labels} labels, cross-validated. ${drawn}. A class counts from ${fewestInFolds} of them on. All train.`;
}

function changeInWords([before, last]: readonly Learnt[]): string {
  const changes = [
    last.changed !== null && `the predictions of ${percent(last.changed)} of the unlabelled threads`,
    before.macroF1 !== null && last.macroF1 !== null && `macro-F1 by ${signed(last.macroF1 - before.macroF1, 3)}`,
  ];
  const text = present(changes).join(', and ');
  return text === '' ? '' : `The last ${last.labels - before.labels} labels changed ${text}.`;
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
