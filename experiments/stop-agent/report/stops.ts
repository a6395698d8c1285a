import { groupBy } from '../../../src/data/group-by.ts';
import { confusionMatrix } from '../../../src/metrics/classification.ts';
import { quantile } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import { type Chart, category, quantity, series, told } from '../../report/page/chart.ts';
import type { Block, ReportSection } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { confusionTable, type Table } from '../../report/table.ts';
import type { Decision } from '../decisions.ts';
import { type ScoredStops, stopColumns, stopMetrics } from '../metrics.ts';
import { type PlacedDecision, placedDecisions, type ReadRun } from './read-runs.ts';

interface DecidedAgent {
  readonly name: string;
  readonly seeds: number;
  /** Of all seeds. */
  readonly decisions: readonly PlacedDecision[];
}

/** Agents shown at most, the best first: more would make lines and files too thick. */
const agentsAtMost = 8;

/** When the agents stop, all in one chart, and what each predicts there. */
export function stopsSection(runs: readonly ReadRun[], task: ScoredStops): ReportSection {
  const all = [...groupBy(runs, ({ variant }) => variant)];
  const agents = all.slice(0, agentsAtMost).map(([name, own]): DecidedAgent => {
    return { name, seeds: own.length, decisions: own.flatMap(placedDecisions) };
  });
  const left =
    all.length > agents.length &&
    `The best ${agents.length} of ${all.length} agents. \`earshot report <run> --html\` writes the page of any run.`;
  const predictions = agents.flatMap((agent) => predictionBlocks(agent, task));
  const blocks = present<Block>([left, { figures: [stopChart(agents, task)] }, ...predictions]);
  return { id: 'stops', title: 'Where it stops', blocks };
}

const lineLegend = { symbolType: 'stroke', symbolOpacity: 1, symbolStrokeWidth: 2 };

/** One, two and five of each decade: their labels never touch on a logarithmic axis. */
const ticks = [1, 10, 100, 1000].flatMap((decade) => [decade, 2 * decade, 5 * decade]);

/** The share of the threads of each label that are decided, or raise an alert, by then: one line per agent. */
function stopChart(agents: readonly DecidedAgent[], { labels, alerts = [] }: ScoredStops): Chart {
  const isAboutAlerts = alerts.length > 0;
  const isCounted = ({ predicted }: PlacedDecision) => !isAboutAlerts || alerts.includes(labels[predicted]);
  const values = agents.flatMap(({ name, decisions }) =>
    labels.flatMap((label, gold) => {
      const own = decisions.filter((decision) => decision.gold === gold);
      const curve = cumulative(own, (decision) => (isCounted(decision) ? decision.postsUsed : null));
      return thinned(curve).map(({ x, share, right }) => {
        const come = isAboutAlerts
          ? `${percent(share)} have raised an alert`
          : `${percent(share)} decided, ${percent(right)} rightly`;
        return { agent: name, label, x, share, details: `${name}, ${label}\nafter ${x} posts\n${come}` };
      });
    }),
  );
  const names = agents.map(({ name }) => name);
  const header = { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0 };
  const what = isAboutAlerts ? 'alert raised' : 'decided';
  const encoding = {
    x: quantity('x', {
      title: 'posts read',
      scale: { type: 'log', nice: false },
      axis: { values: ticks, format: '~r' },
    }),
    y: quantity('share', { title: what, scale: { domain: [0, 1] }, axis: { tickCount: 3, format: '.0%' } }),
    color: series('agent', names, { legend: names.length === 1 ? null : lineLegend }),
  };
  const mark = { interpolate: 'step-after', strokeWidth: 2, point: { size: 18, opacity: 0.01 } };
  return {
    name: 'stops',
    title: `${isAboutAlerts ? 'Alerts' : 'Decided'}, by posts read`,
    label: `Share of the threads that ${isAboutAlerts ? 'have raised an alert' : 'are decided'}, by posts read, for ${names.join(', ')}.`,
    caption: isAboutAlerts
      ? `Of the threads of each true label. Only ${new Intl.ListFormat('en', { type: 'disjunction' }).format(alerts)} should raise one.`
      : 'A line that rises in one step is a fixed rule.',
    spec: {
      data: { values },
      facet: { row: category('label', { title: null, sort: labels, header }) },
      spacing: 8,
      spec: { width: 250, height: 110, ...told('line', encoding, mark) },
    },
  };
}

/** At most about fifty of some points, the last among them. */
function thinned<Point>(points: readonly Point[]): Point[] {
  const every = Math.ceil(points.length / 50);
  return points.filter((_, index) => (points.length - 1 - index) % every === 0);
}

/** After each value, the share of decisions up to it, and the share of right ones. Decisions without a value are never counted as made. */
export function cumulative<Decided extends Pick<Decision, 'gold' | 'predicted'>>(
  decisions: readonly Decided[],
  timeOf: (decision: Decided) => number | null,
): { x: number; share: number; right: number }[] {
  const byValue = groupBy(decisions, timeOf);
  let [made, right] = [0, 0];
  return [...byValue]
    .flatMap(([x, own]) => (x === null ? [] : [{ x, own }]))
    .sort((a, b) => a.x - b.x)
    .map(({ x, own }) => {
      made += own.length;
      right += own.filter(({ gold, predicted }) => gold === predicted).length;
      return { x, share: made / decisions.length, right: right / decisions.length };
    });
}

function predictionBlocks({ name, seeds, decisions }: DecidedAgent, task: ScoredStops): Block[] {
  const { labels } = task;
  const events = byEvent(decisions);
  return present<Block>([
    `What **${name}** predicts${seeds > 1 ? `, in all ${seeds} seeds` : ''}:`,
    confusionTable(labels, confusionRows(decisions, labels)),
    events.length > 1 && eventTable(events, task),
  ]);
}

/** Rows are true labels, columns predicted ones, the last column predictions that could not be read. */
export function confusionRows(decisions: readonly Decision[], labels: readonly string[]): number[][] {
  const { counts } = confusionMatrix({
    gold: decisions.map(({ gold }) => gold),
    predicted: decisions.map(({ predicted }) => predicted),
    classes: labels.length,
  });
  const width = labels.length + 1;
  return labels.map((_, row) => Array.from(counts.subarray(row * width, (row + 1) * width)));
}

interface DecidedEvent {
  readonly event: string;
  readonly decisions: readonly PlacedDecision[];
}

/** The decisions on the threads of each event, the largest first; empty where threads have none. */
export function byEvent(decisions: readonly PlacedDecision[]): DecidedEvent[] {
  const events = groupBy(decisions, ({ event }) => event);
  return [...events]
    .flatMap(([event, own]) => (event === null ? [] : [{ event, decisions: own }]))
    .sort((a, b) => b.decisions.length - a.decisions.length);
}

/** What an agent comes to on each event. */
export function eventTable(events: readonly DecidedEvent[], task: ScoredStops): Table {
  const names = (task.alerts ?? []).length > 0 ? ['latencyF1', 'alertPrecision', 'alertRecall'] : ['macroF1', 'er'];
  const metrics = names.map((name) => stopMetrics.find((metric) => metric.name === name)!);
  return {
    heading: ['by event', 'threads', ...metrics.map(({ title }) => title), 'median posts'],
    rows: events.map(({ event, decisions }) => {
      const columns = stopColumns(decisions, task);
      const posts = Float64Array.from(decisions, ({ postsUsed }) => postsUsed).sort();
      return [
        event,
        String(decisions.length),
        ...metrics.map(({ of, decimals }) => of(columns)?.toFixed(decimals) ?? '–'),
        quantile(posts, 0.5).toFixed(1),
      ];
    }),
  };
}
