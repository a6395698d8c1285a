import { mostCommonStopShare } from '../../../src/metrics/earliness.ts';
import { type DrawnChart, drawAll, figure } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { confusionTable, numberCell, table } from '../../report/page/tables.ts';
import { percent } from '../../report/shown-numbers.ts';
import { collapsedShare } from './aggregate.ts';
import { placedDecisions, type ReadRun } from './read-runs.ts';
import { barsOf, stopAxes, stopCharts } from './stop-charts.ts';
import { byEvent, confusionRows, type PlacedDecision } from './stop-distribution.ts';

/** Where the agents stop and what they answer there: a part an agent and seed, of which the page shows what is chosen. */
export async function stopsSection(
  runs: readonly ReadRun[],
  labels: readonly string[],
): Promise<{ body: Markup; charts: readonly DrawnChart[] }> {
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const parts: Markup[] = [];
  const charts: DrawnChart[] = [];
  const choices = variants.map((variant) => {
    const own = runs.filter((run) => run.variant === variant);
    const seeds = seedsOf(own, { areShownAlone: runs.length <= mostRunsAlone }).map(({ seed, together }) => {
      const decisions = together.flatMap(placedDecisions);
      return { seed, together, decisions, collapse: collapseOf(decisions), bars: barsOf(decisions, labels) };
    });
    return { variant, own, seeds };
  });
  const drawnBars = choices.flatMap(({ seeds }) =>
    seeds.flatMap(({ collapse, bars }) => (collapse === null ? [bars] : [])),
  );
  const axes = stopAxes(drawnBars);
  for (const [index, { variant, own, seeds }] of choices.entries()) {
    for (const { seed, together, decisions, collapse, bars } of seeds) {
      const prefix = `stops-${index + 1}${seed === null ? '' : `-seed-${seed}`}`;
      const drawn = collapse === null ? await drawAll(stopCharts(decisions, { bars, axes, prefix })) : [];
      charts.push(...drawn);
      const whose = html`<h3>${variant}${seed === null ? (own.length > 1 ? ', all seeds' : null) : `, seed ${seed}`}</h3>`;
      const body =
        collapse === null
          ? stopsBody({ decisions, drawn, labels, mistakesOf: together[0] })
          : html`<p class="warning">${collapse}</p>`;
      parts.push(
        html`<div class="of-choice" data-agent="${variant}" data-seed="${seed ?? 'all'}">${whose}${body}</div>`,
      );
    }
  }
  return {
    charts,
    body: html`<p>Of the agent and the seed that are chosen above. Right and wrong are about the answer of the detector at the stop.</p>${parts}`,
  };
}

/** With more runs than this seeds are shown together, or the page would be too large. */
const mostRunsAlone = 12;

/** All runs of an agent together, and each alone where there are several. */
function seedsOf(
  runs: readonly ReadRun[],
  { areShownAlone }: { areShownAlone: boolean },
): { seed: number | null; together: readonly ReadRun[] }[] {
  if (runs.length === 1) return [{ seed: runs[0].result.seed, together: runs }];
  const alone = runs.map((run) => ({ seed: run.result.seed, together: [run] }));
  return [{ seed: null, together: runs }, ...(areShownAlone ? alone : [])];
}

/** A collapsed agent in a sentence; null for others. */
function collapseOf(decisions: readonly PlacedDecision[]): string | null {
  const { name, share } = mostCommonStopShare({
    postsUsed: decisions.map(({ postsUsed }) => postsUsed),
    threadPosts: decisions.map(({ posts }) => posts),
  });
  if (share < collapsedShare) return null;
  const right = decisions.filter(({ gold, predicted }) => gold === predicted).length / decisions.length;
  return `It decides ${percent(share)} of the threads at ${name}, as a fixed rule would, and answers ${percent(right)} of them rightly. There is nothing more to see of where it stops.`;
}

function stopsBody(of: {
  decisions: readonly PlacedDecision[];
  drawn: readonly DrawnChart[];
  labels: readonly string[];
  mistakesOf: ReadRun;
}): Markup {
  const { decisions, drawn, labels } = of;
  const events = byEvent(decisions, labels);
  return html`<div class="pair">${drawn.map((chart) => figure(chart, captions.find(([ending]) => chart.name.endsWith(ending))?.[1] ?? null))}
${confusionTable({ caption: 'What it answers', labels, rows: confusionRows(decisions, labels) })}</div>
${
  events.length < 2
    ? null
    : table({
        caption: 'By event',
        columns: ['event', 'threads', 'macro-F1', 'ER', 'median posts'],
        rows: events.map(({ event, threads, macroF1, er, medianPosts }) => [
          event,
          numberCell(threads, 0),
          numberCell(macroF1),
          numberCell(er),
          numberCell(medianPosts, 1),
        ]),
      })
}
${mistakesTable(of.mistakesOf, labels)}`;
}

const captions: readonly (readonly [ending: string, caption: string])[] = [
  ['-posts', 'Posts seen at the decision, by class. One tall bar is a fixed rule.'],
  ['-hours', 'How long that took after the claim, where times are known.'],
  ['-events', 'The same by event: the darker, the more of its threads.'],
  ['-calibration', 'Above the dashed line the detector is better than it says, below it too sure of itself.'],
];

const mistakesShown = 12;

/** The surest wrong answers of a run, with links to the inspector. */
function mistakesTable(run: ReadRun, labels: readonly string[]): Markup | null {
  const wrong = placedDecisions(run)
    .filter(({ gold, predicted }) => gold !== predicted)
    .sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0));
  if (wrong.length === 0) return null;
  const name = (label: number) => labels[label] ?? 'not readable';
  return table({
    caption: `The surest of ${wrong.length} mistakes, seed ${run.result.seed}`,
    columns: ['thread', 'is', 'answered', 'confidence', 'posts seen', 'of'],
    texts: ['is', 'answered'],
    rows: wrong
      .slice(0, mistakesShown)
      .map(({ threadId, gold, predicted, confidence, postsUsed, posts }) => [
        html`<a href="#thread=${encodeURIComponent(threadId)}&amp;seed=${run.result.seed}&amp;agent=${encodeURIComponent(run.variant)}">${threadId}</a>`,
        name(gold),
        name(predicted),
        numberCell(confidence, 2),
        numberCell(postsUsed, 0),
        numberCell(posts, 0),
      ]),
  });
}
