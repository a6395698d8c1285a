import { type Chart, palette } from '../../report/page/chart.ts';
import {
  type Bar,
  type CalibrationBin,
  calibration,
  histogram,
  hourBins,
  type PlacedDecision,
  postBins,
  stopsByEvent,
} from './stop-distribution.ts';

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
    details: `${cell.event}: ${cell.bin} posts seen\n${cell.threads} threads, ${(100 * cell.share).toFixed(0)} % of the event`,
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
    details: `Confidence ${bin.confidence.toFixed(2)}\n${(100 * bin.accuracy).toFixed(0)} % of ${bin.threads} threads right`,
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
