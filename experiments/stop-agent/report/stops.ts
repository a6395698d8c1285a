import { calibration } from '../../../src/metrics/calibration.ts';
import { mostCommonStopShare } from '../../../src/metrics/earliness.ts';
import { calibrationChart } from '../../report/page/calibration-chart.ts';
import { type Chart, type DrawnChart, drawAll, figure, outcomeColours, quiet } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { confusionTable, numberCell, table } from '../../report/page/tables.ts';
import { percent } from '../../report/shown-numbers.ts';
import { collapsedShare } from './aggregate.ts';
import { placedDecisions, type ReadRun } from './read-runs.ts';
import {
  type Bar,
  byEvent,
  confusionRows,
  histogram,
  hourBins,
  type PlacedDecision,
  postBins,
  stopsByEvent,
} from './stop-distribution.ts';

/** Where the agents stop and what they answer there: a part an agent and seed, of which the page shows what is chosen. */
export async function stopsSection(
  runs: readonly ReadRun[],
  labels: readonly string[],
): Promise<{ body: Markup; charts: readonly DrawnChart[] }> {
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const parts: Markup[] = [];
  const charts: DrawnChart[] = [];
  for (const [index, variant] of variants.entries()) {
    const own = runs.filter((run) => run.variant === variant);
    for (const { seed, together } of seedsOf(own, { areShownAlone: runs.length <= mostRunsAlone })) {
      const decisions = together.flatMap(placedDecisions);
      const prefix = `stops-${index + 1}${seed === null ? '' : `-seed-${seed}`}`;
      const collapse = collapseOf(decisions);
      const drawn = collapse === null ? await drawAll(stopCharts(decisions, { labels, prefix })) : [];
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
        shown: html`<a href="#thread=${encodeURIComponent(threadId)}&amp;seed=${run.result.seed}&amp;agent=${encodeURIComponent(run.variant)}">${threadId}</a>`,
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

const outcomes = { domain: ['right', 'wrong'], range: [outcomeColours.right, outcomeColours.wrong] };

/** Where an agent stops and how right it is there. Charts without anything to show are left out. */
export function stopCharts(
  decisions: readonly PlacedDecision[],
  { labels, prefix }: { labels: readonly string[]; prefix: string },
): Chart[] {
  const posts = histogram(decisions, { bins: postBins, valueIn: ({ postsUsed }) => postsUsed, labels });
  const isTimed = decisions.some(({ hours, postsUsed }) => postsUsed > 1 && hours !== null);
  const hours = isTimed ? histogram(decisions, { bins: hourBins, valueIn: ({ hours }) => hours, labels }) : [];
  const events = stopsByEvent(decisions, { events: 12 });
  const calibrated = calibration(
    decisions.flatMap(({ confidence, gold, predicted }) =>
      confidence === null ? [] : [{ confidence, isRight: gold === predicted }],
    ),
  );
  return [
    barChart({
      name: `${prefix}-posts`,
      title: 'posts seen at the decision',
      bins: postBins.map(({ name }) => name),
      bars: posts,
    }),
    ...(hours.length === 0
      ? []
      : [
          barChart({
            name: `${prefix}-hours`,
            title: 'time from the claim to the decision',
            bins: hourBins.map(({ name }) => name),
            bars: hours,
          }),
        ]),
    ...(new Set(events.map(({ event }) => event)).size < 2 ? [] : [eventChart(`${prefix}-events`, events)]),
    ...(calibrated === null
      ? []
      : [
          calibrationChart({
            name: `${prefix}-calibration`,
            bins: calibrated.bins,
            label: `Calibration of the detector where the agent stops; expected error ${calibrated.expectedError.toFixed(3)}.`,
            confidence: 'detector’s confidence at the stop',
          }),
        ]),
  ];
}

function barChart(options: { name: string; title: string; bins: readonly string[]; bars: readonly Bar[] }): Chart {
  const { name, title, bins, bars } = options;
  const used = bars.filter(({ threads }) => threads > 0);
  const present = new Set(used.map(({ bin }) => bin));
  // Empty bins between others stay, those at the ends go.
  const first = bins.findIndex((bin) => present.has(bin));
  const last = bins.findLastIndex((bin) => present.has(bin));
  const values = used.map((bar) => ({
    ...bar,
    details: `${bar.label}, ${title}: ${bar.bin}\n${bar.threads} threads ${bar.outcome}`,
  }));
  const labels = [...new Set(bars.map(({ label }) => label))];
  return {
    name,
    label: `Threads by ${title}, by class, right and wrong.`,
    spec: {
      data: { values },
      facet: {
        row: {
          field: 'label',
          type: 'nominal',
          title: null,
          sort: labels,
          header: { labelAngle: 0, labelAlign: 'left', labelOrient: 'top', labelAnchor: 'start' },
        },
      },
      spacing: 14,
      spec: {
        width: 420,
        height: labels.length > 2 ? 80 : 110,
        mark: { type: 'bar' },
        encoding: {
          x: {
            field: 'bin',
            type: 'ordinal',
            title,
            scale: { domain: bins.slice(first, last + 1) },
            axis: { labelAngle: -40, grid: false },
          },
          y: { field: 'threads', type: 'quantitative', title: 'threads', axis: { tickCount: 4, tickMinStep: 1 } },
          color: { field: 'outcome', type: 'nominal', title: null, scale: outcomes, legend: { orient: 'top' } },
          description: { field: 'details', type: 'nominal' },
        },
      },
    },
  };
}

function eventChart(name: string, cells: ReturnType<typeof stopsByEvent>): Chart {
  const events = [...new Set(cells.map(({ event }) => event))];
  const used = new Set(cells.map(({ bin }) => bin));
  const bins = postBins.map((bin) => bin.name);
  const values = cells.map((cell) => ({
    ...cell,
    details: `${cell.event}: ${cell.bin} posts seen\n${cell.threads} threads, ${percent(cell.share)} of the event`,
  }));
  return {
    name,
    label: `Share of the threads of ${events.length} events by posts seen at the decision.`,
    spec: {
      width: 420,
      height: { step: 24 },
      data: { values },
      mark: { type: 'rect', color: quiet, stroke: null },
      encoding: {
        x: {
          field: 'bin',
          type: 'ordinal',
          title: 'posts seen at the decision',
          scale: {
            domain: bins.slice(
              bins.findIndex((bin) => used.has(bin)),
              bins.findLastIndex((bin) => used.has(bin)) + 1,
            ),
          },
          axis: { labelAngle: -40, grid: false },
        },
        y: { field: 'event', type: 'nominal', title: null, sort: events, axis: { grid: false, labelLimit: 150 } },
        opacity: { field: 'share', type: 'quantitative', legend: null, scale: { domainMin: 0, range: [0.06, 1] } },
        description: { field: 'details', type: 'nominal' },
      },
    },
  };
}
