import { groupBy } from '../../../src/data/group-by.ts';
import { calibrationCharts } from '../../report/page/calibration-chart.ts';
import { type Chart, category, ordered, outcomeColours, quantity, quiet, told } from '../../report/page/chart.ts';
import { percent } from '../../report/shown-numbers.ts';
import {
  type Bar,
  type Bin,
  histogram,
  hourBins,
  type PlacedDecision,
  postBins,
  stopsByEvent,
} from './stop-distribution.ts';

const outcomes = { domain: ['right', 'wrong'], range: [outcomeColours.right, outcomeColours.wrong] };

/** What the stops of threads are counted by. */
const scales = {
  posts: { title: 'posts seen at the decision', bins: postBins, valueIn: (own: PlacedDecision) => own.postsUsed },
  hours: { title: 'time from the claim to the decision', bins: hourBins, valueIn: (own: PlacedDecision) => own.hours },
} as const;

/** How many threads of each class are decided where; no bars by the hour where times are not known. */
export type StopBars = Readonly<Record<keyof typeof scales, readonly Bar[]>>;

export function barsOf(decisions: readonly PlacedDecision[], labels: readonly string[]): StopBars {
  const isTimed = decisions.some(({ hours, postsUsed }) => postsUsed > 1 && hours !== null);
  return {
    posts: histogram(decisions, { ...scales.posts, labels }),
    hours: isTimed ? histogram(decisions, { ...scales.hours, labels }) : [],
  };
}

interface BarAxes {
  readonly bins: readonly string[];
  readonly highestShare: number;
}

type StopAxes = Record<keyof StopBars, BarAxes>;

/** The axes that all these charts have in common, so that one agent or seed can be compared with another. */
export function stopAxes(charts: readonly StopBars[]): StopAxes {
  return { posts: axesOf('posts', charts), hours: axesOf('hours', charts) };
}

function axesOf(scale: keyof StopBars, all: readonly StopBars[]): BarAxes {
  const charts = all.map((bars) => bars[scale]);
  const present = new Set(charts.flat().flatMap(({ bin, threads }) => (threads > 0 ? [bin] : [])));
  const names = scales[scale].bins.map(({ name }) => name);
  const isPresent = (name: string) => present.has(name);
  return {
    // Empty bins between others stay, those at the ends go.
    bins: names.slice(names.findIndex(isPresent), names.findLastIndex(isPresent) + 1),
    highestShare: Math.max(0, ...charts.flatMap(heightsOf)),
  };
}

/** Right and wrong stand on each other. */
function heightsOf(bars: readonly Bar[]): number[] {
  const stacks = groupBy(bars, ({ label, bin }) => `${bin} ${label}`);
  return Array.from(stacks.values(), (stack) => stack.reduce((sum, { share }) => sum + share, 0));
}

/** Where an agent stops and how right it is there. Charts without anything to show are left out. */
export function stopCharts(
  decisions: readonly PlacedDecision[],
  { bars, axes, prefix }: { bars: StopBars; axes: StopAxes; prefix: string },
): Chart[] {
  const events = stopsByEvent(decisions, { events: 12 });
  const answers = decisions.flatMap(({ confidence, gold, predicted }) =>
    confidence === null ? [] : [{ confidence, isRight: gold === predicted }],
  );
  const several = new Set(events.map(({ event }) => event)).size > 1;
  return [
    ...(['posts', 'hours'] as const).flatMap((scale) =>
      bars[scale].length === 0 ? [] : [barChart(`${prefix}-${scale}`, { scale, axes: axes[scale], bars: bars[scale] })],
    ),
    ...(several ? [eventChart(`${prefix}-events`, events)] : []),
    ...calibrationCharts(answers, {
      name: `${prefix}-calibration`,
      label: 'Calibration of the detector where the agent stops; expected error',
      confidence: 'detector’s confidence at the stop',
    }),
  ];
}

function barChart(
  name: string,
  { scale, axes, bars }: { scale: keyof StopBars; axes: BarAxes; bars: readonly Bar[] },
): Chart {
  const { title } = scales[scale];
  const values = bars
    .filter(({ threads }) => threads > 0)
    .map((bar) => ({ ...bar, details: `${bar.label}, ${title}: ${bar.bin}\n${bar.threads} threads ${bar.outcome}` }));
  const labels = [...new Set(bars.map(({ label }) => label))];
  const header = { labelAngle: 0, labelAlign: 'left', labelOrient: 'top', labelAnchor: 'start' };
  const share = { domain: [0, axes.highestShare] };
  return {
    name,
    label: `Threads by ${title}, by class, right and wrong.`,
    spec: {
      data: { values },
      facet: { row: category('label', { title: null, sort: labels, header }) },
      spacing: 14,
      spec: {
        width: 420,
        height: labels.length > 2 ? 80 : 110,
        ...told('bar', {
          x: ordered('bin', { title, scale: { domain: axes.bins }, axis: { labelAngle: -40, grid: false } }),
          y: quantity('share', { title: 'of the class', scale: share, axis: { tickCount: 4, format: '.0%' } }),
          color: category('outcome', { title: null, scale: outcomes, legend: { orient: 'top' } }),
        }),
      },
    },
  };
}

function eventChart(name: string, cells: ReturnType<typeof stopsByEvent>): Chart {
  const events = [...new Set(cells.map(({ event }) => event))];
  const used = new Set(cells.map(({ bin }) => bin));
  const isUsed = ({ name: bin }: Bin) => used.has(bin);
  const shown = postBins.slice(postBins.findIndex(isUsed), postBins.findLastIndex(isUsed) + 1);
  const scale = { domain: shown.map((bin) => bin.name) };
  const values = cells.map((cell) => ({
    ...cell,
    details: `${cell.event}: ${cell.bin} posts seen\n${cell.threads} threads, ${percent(cell.share)} of the event`,
  }));
  const x = ordered('bin', { title: 'posts seen at the decision', scale, axis: { labelAngle: -40, grid: false } });
  const y = category('event', { title: null, sort: events, axis: { grid: false, labelLimit: 150 } });
  const opacity = quantity('share', { legend: null, scale: { domainMin: 0, range: [0.06, 1] } });
  return {
    name,
    label: `Share of the threads of ${events.length} events by posts seen at the decision.`,
    spec: {
      width: 420,
      height: { step: 24 },
      data: { values },
      ...told('rect', { x, y, opacity }, { color: quiet, stroke: null }),
    },
  };
}
