import { type DrawnChart, drawAll, figure } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { confusionTable, numberCell, table } from '../../report/page/tables.ts';
import { placedDecisions, type ReadRun } from './read-runs.ts';
import { stopCharts } from './stop-charts.ts';
import { byEvent, confusionRows } from './stop-distribution.ts';

/** Where the agents stop and what they answer there, one part a variant. */
export async function stopsSection(
  runs: readonly ReadRun[],
  labels: readonly string[],
): Promise<{ body: Markup; charts: readonly DrawnChart[] }> {
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const parts: Markup[] = [];
  const charts: DrawnChart[] = [];
  for (const [index, variant] of variants.entries()) {
    const own = runs.filter((run) => run.variant === variant);
    const decisions = own.flatMap(placedDecisions);
    const drawn = await drawAll(stopCharts(decisions, { labels, prefix: `stops-${index + 1}` }));
    charts.push(...drawn);
    const events = byEvent(decisions, labels);
    const body = html`<div class="pair">${drawn.map((chart) => figure(chart, captions.find(([ending]) => chart.name.endsWith(ending))?.[1] ?? null))}
${confusionTable({ caption: 'What it answers', labels, rows: confusionRows(decisions, labels) })}</div>
${
  events.length < 2
    ? null
    : table({
        caption: 'By event',
        columns: [
          { title: 'event' },
          { title: 'threads', isNumber: true },
          { title: 'macro-F1', isNumber: true },
          { title: 'ER', isNumber: true },
          { title: 'median posts', isNumber: true },
        ],
        rows: events.map(({ event, threads, macroF1, er, medianPosts }) => [
          event,
          numberCell(threads, 0),
          numberCell(macroF1),
          numberCell(er),
          numberCell(medianPosts, 1),
        ]),
      })
}
${mistakesOf(own[0], labels)}`;
    parts.push(
      variants.length === 1
        ? body
        : html`<details${index === 0 ? html` open` : null}><summary>${variant}</summary>${body}</details>`,
    );
  }
  return {
    charts,
    body: html`<p>All seeds together. Right and wrong are about the answer of the detector at the stop.</p>${parts}`,
  };
}

const captions: readonly (readonly [ending: string, caption: string])[] = [
  ['-posts', 'Posts seen at the decision, by class. One tall bar is a fixed rule.'],
  ['-hours', 'How long that took after the claim, where times are known.'],
  ['-events', 'The same by event: the darker, the more of its threads.'],
  ['-calibration', 'Above the dashed line the detector is better than it says, below it too sure of itself.'],
];

const mistakesShown = 12;

/** The surest wrong answers of a run, with links to the inspector. */
function mistakesOf(run: ReadRun, labels: readonly string[]): Markup | null {
  const wrong = placedDecisions(run)
    .filter(({ gold, predicted }) => gold !== predicted)
    .sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0));
  if (wrong.length === 0) return null;
  const name = (label: number) => labels[label] ?? 'not readable';
  return table({
    caption: `The surest of ${wrong.length} mistakes, seed ${run.result.seed}`,
    columns: [
      { title: 'thread' },
      { title: 'is' },
      { title: 'answered' },
      { title: 'confidence', isNumber: true },
      { title: 'posts seen', isNumber: true },
      { title: 'of', isNumber: true },
    ],
    rows: wrong.slice(0, mistakesShown).map(({ threadId, gold, predicted, confidence, postsUsed, posts }) => [
      {
        shown: html`<a href="#thread=${encodeURIComponent(threadId)}&amp;seed=${run.result.seed}">${threadId}</a>`,
        value: threadId,
      },
      name(gold),
      name(predicted),
      numberCell(confidence, 2),
      numberCell(postsUsed, 0),
      numberCell(posts, 0),
    ]),
  });
}
