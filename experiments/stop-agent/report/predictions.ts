import { groupBy } from '../../../src/data/group-by.ts';
import { quantile } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import type { Block, ReportSection } from '../../report/report.ts';
import { confusionTable, type Table } from '../../report/table.ts';
import { confusionRows } from '../../run/metric.ts';
import { metricNamed, type ScoredStops, stopColumns } from '../metrics.ts';
import { type PlacedDecision, placedDecisions, type ReadRun } from './read-runs.ts';

interface DecidedAgent {
  readonly name: string;
  readonly seeds: number;
  /** Of all seeds. */
  readonly decisions: readonly PlacedDecision[];
}

/** Agents shown at most, the best first. */
const agentsAtMost = 8;

/** Predictions of the agents at their stops, and by event. */
export function predictionsSection(runs: readonly ReadRun[], task: ScoredStops): ReportSection {
  const all = [...groupBy(runs, ({ variant }) => variant)];
  const agents = all.slice(0, agentsAtMost).map(([name, decisions]): DecidedAgent => {
    return { name, seeds: decisions.length, decisions: decisions.flatMap(placedDecisions) };
  });
  const left =
    all.length > agents.length &&
    `The best ${agents.length} of ${all.length} agents. \`earshot report <run> --html\` writes the page of any run.`;
  const blocks = present<Block>([left, ...agents.flatMap((agent) => predictionBlocks(agent, task))]);
  return { id: 'predictions', title: 'What it predicts', blocks };
}

function predictionBlocks({ name, seeds, decisions }: DecidedAgent, task: ScoredStops): Block[] {
  const events = byEvent(decisions);
  return present<Block>([
    `What **${name}** predicts${seeds > 1 ? `, in all ${seeds} seeds` : ''}:`,
    confusionTable(task.labels, confusionRows(stopColumns(decisions, task))),
    events.length > 1 && eventTable(events, task),
  ]);
}

interface DecidedEvent {
  readonly event: string;
  readonly decisions: readonly PlacedDecision[];
}

/** The decisions on the threads of each event, the largest first; empty where threads have none. */
export function byEvent(decisions: readonly PlacedDecision[]): DecidedEvent[] {
  const events = groupBy(decisions, ({ event }) => event);
  return [...events]
    .flatMap(([event, decisions]) => (event === null ? [] : [{ event, decisions }]))
    .sort((a, b) => b.decisions.length - a.decisions.length);
}

/** Scores of an agent by event. */
export function eventTable(events: readonly DecidedEvent[], task: ScoredStops): Table {
  const names = (task.alerts ?? []).length > 0 ? ['latencyF1', 'alertPrecision', 'alertRecall'] : ['macroF1', 'er'];
  const metrics = names.map(metricNamed);
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
