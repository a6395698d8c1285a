import { type Chart, type DrawnChart, drawAll, figure, palette } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { confusionTable, numberCell, table } from '../../report/page/tables.ts';
import { percent } from '../../report/shown-numbers.ts';
import { placedDecisions, type ReadRun } from './read-runs.ts';
import {
  type Bar,
  byEvent,
  type CalibrationBin,
  calibration,
  confusionRows,
  histogram,
  hourBins,
  type PlacedDecision,
  postBins,
  stopsByEvent,
} from './stop-distribution.ts';

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

const outcomes = { domain: ['right', 'wrong'], range: [palette.blue, palette.vermillion] };

/** Where an agent stops and how right it is there. Charts without anything to show are left out. */
export function stopCharts(
  decisions: readonly PlacedDecision[],
  { labels, prefix }: { labels: readonly string[]; prefix: string },
): Chart[] {
  const posts = histogram(decisions, { bins: postBins, valueIn: ({ postsUsed }) => postsUsed, labels });
  const isTimed = decisions.some(({ hours, postsUsed }) => postsUsed > 1 && hours !== null);
  const hours = isTimed ? histogram(decisions, { bins: hourBins, valueIn: ({ hours }) => hours, labels }) : [];
  const events = stopsByEvent(decisions, { events: 12 });
  const calibrated = calibration(decisions);
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
      : [calibrationChart(`${prefix}-calibration`, calibrated.bins, calibrated.expectedError)]),
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
            axis: { labelAngle: bins[0] === '1' ? 0 : -30, grid: false },
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
      mark: { type: 'rect', color: palette.blue, stroke: null },
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
          axis: { labelAngle: 0, grid: false },
        },
        y: { field: 'event', type: 'nominal', title: null, sort: events, axis: { grid: false, labelLimit: 150 } },
        opacity: { field: 'share', type: 'quantitative', legend: null, scale: { domainMin: 0, range: [0.06, 1] } },
        description: { field: 'details', type: 'nominal' },
      },
    },
  };
}

function calibrationChart(name: string, bins: readonly CalibrationBin[], expectedError: number): Chart {
  const values = bins.map((bin) => ({
    ...bin,
    details: `Confidence ${bin.confidence.toFixed(2)}\n${percent(bin.accuracy)} of ${bin.threads} threads right`,
  }));
  const low = Math.min(0.5, ...bins.map(({ confidence }) => Math.floor(confidence * 10) / 10));
  const axis = (field: 'confidence' | 'accuracy', title: string, from: number) =>
    ({
      field,
      type: 'quantitative',
      title,
      scale: { domain: [from, 1] as number[] },
      axis: { tickCount: 5, format: '.1f' },
    }) as const;
  const place = {
    x: axis('confidence', 'detector’s confidence at the stop', low),
    y: axis('accuracy', 'share that is right', 0),
  };
  return {
    name,
    label: `Calibration of the detector where the agent stops; expected error ${expectedError.toFixed(3)}.`,
    spec: {
      width: 240,
      height: 240,
      layer: [
        {
          data: {
            values: [
              { confidence: low, accuracy: low },
              { confidence: 1, accuracy: 1 },
            ],
          },
          mark: { type: 'line', aria: false, color: palette.grey, strokeDash: [4, 4] },
          encoding: place,
        },
        { data: { values }, mark: { type: 'line', aria: false, color: palette.blue }, encoding: place },
        {
          data: { values },
          mark: { type: 'point', filled: true, color: palette.blue, opacity: 1 },
          encoding: {
            ...place,
            size: { field: 'threads', type: 'quantitative', legend: null, scale: { range: [30, 260], domainMin: 0 } },
            description: { field: 'details', type: 'nominal' },
          },
        },
      ],
    },
  };
}
