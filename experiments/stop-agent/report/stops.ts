import { groupBy } from '../../../src/data/group-by.ts';
import { confusionMatrix, macroF1 } from '../../../src/metrics/classification.ts';
import { mean, quantile } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import { calibrationChart } from '../../report/charts/calibration-chart.ts';
import { type Chart, category, quantity, series, told } from '../../report/page/chart.ts';
import { confusionTable } from '../../report/page/table-markup.ts';
import type { Block, ReportSection, ReportTable } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import type { Decision } from '../decisions.ts';
import { type PlacedDecision, placedDecisions, type ReadRun } from './read-runs.ts';

interface DecidedAgent {
  readonly name: string;
  readonly runs: readonly ReadRun[];
  /** Of all seeds. */
  readonly decisions: readonly PlacedDecision[];
}

/** Agents shown at most, the best first: more would make lines and files too thick. */
const agentsAtMost = 8;

/** When the agents stop, all in one chart, and what each predicts there. */
export function stopsSection(runs: readonly ReadRun[], labels: readonly string[]): ReportSection {
  const all = [...groupBy(runs, ({ variant }) => variant)];
  const agents = all.slice(0, agentsAtMost).map(([name, own]): DecidedAgent => {
    return { name, runs: own, decisions: own.flatMap(placedDecisions) };
  });
  const calibrated = agents.map(({ name, decisions }) => ({
    name,
    answers: decisions.flatMap(({ confidence, gold, predicted }) =>
      confidence === null ? [] : [{ confidence, isRight: gold === predicted }],
    ),
  }));
  const left =
    all.length > agents.length &&
    `The best ${agents.length} of ${all.length} agents. \`earshot report <run> --html\` writes the page of any run.`;
  const isTimed = agents.some((agent) =>
    agent.decisions.some(({ hours, postsUsed }) => postsUsed > 1 && hours !== null),
  );
  const figures = present([
    stopChart(agents, { labels, scale: 'posts' }),
    isTimed && stopChart(agents, { labels, scale: 'hours' }),
    ...calibrationChart(calibrated, 'confidence of the detector at the stop'),
  ]);
  const predictions = agents.flatMap((agent) => predictionBlocks(agent, labels));
  return { id: 'stops', title: 'Where it stops', blocks: present([left, { figures }, ...predictions]) };
}

const scales = {
  posts: { title: 'posts read', timeOf: ({ postsUsed }: PlacedDecision) => postsUsed, type: 'log' },
  hours: { title: 'hours after the claim', timeOf: ({ hours }: PlacedDecision) => hours, type: 'symlog' },
} as const;

const lineLegend = { symbolType: 'stroke', symbolOpacity: 1, symbolStrokeWidth: 2 };

/** One, two and five of each decade: their labels never touch on a logarithmic axis. */
const ticks = [0, ...[1, 10, 100, 1000].flatMap((decade) => [decade, 2 * decade, 5 * decade])];

/** The share of the threads of each label that are decided by then: one line per agent. */
function stopChart(
  agents: readonly DecidedAgent[],
  { labels, scale }: { labels: readonly string[]; scale: keyof typeof scales },
): Chart {
  const { title, timeOf, type } = scales[scale];
  const values = agents.flatMap(({ name, decisions }) =>
    labels.flatMap((label, gold) => {
      const own = decisions.filter((decision) => decision.gold === gold);
      return thinned(cumulative(own, timeOf)).map(({ x, share, right }) => {
        const details = `${name}, ${label}\nafter ${Number(x.toFixed(2))} ${title}\n${percent(share)} decided, ${percent(right)} rightly`;
        return { agent: name, label, x, share, details };
      });
    }),
  );
  const names = agents.map(({ name }) => name);
  return {
    name: `stops-${scale}`,
    title: `Decided, by ${title}`,
    label: `Share of the threads that are decided, by ${title}, for ${names.join(', ')}.`,
    caption: 'A line that rises in one step is a fixed rule.',
    spec: {
      data: { values },
      facet: {
        row: category('label', {
          title: null,
          sort: labels,
          header: { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0 },
        }),
      },
      spacing: 8,
      spec: {
        width: 250,
        height: 110,
        ...told(
          'line',
          {
            x: quantity('x', { title, scale: { type, nice: false }, axis: { values: ticks, format: '~r' } }),
            y: quantity('share', {
              title: 'decided',
              scale: { domain: [0, 1] },
              axis: { tickCount: 3, format: '.0%' },
            }),
            color: series('agent', names, { legend: names.length === 1 ? null : lineLegend }),
          },
          { interpolate: 'step-after', strokeWidth: 2, point: { size: 18, opacity: 0.01 } },
        ),
      },
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

function predictionBlocks({ name, runs, decisions }: DecidedAgent, labels: readonly string[]): Block[] {
  const events = byEvent(decisions, labels);
  return present<Block>([
    `**${name}**${runs.length > 1 ? `, all ${runs.length} seeds; mistakes of the first` : ''}`,
    confusionTable({ caption: `What ${name} predicts`, labels, rows: confusionRows(decisions, labels) }),
    events.length > 1 && {
      heading: ['by event', 'threads', 'macro-F1', 'earliness', 'median posts'],
      rows: events.map(({ event, threads, macroF1: score, er, medianPosts }) => [
        event,
        String(threads),
        score.toFixed(3),
        er.toFixed(3),
        medianPosts.toFixed(1),
      ]),
    },
    mistakes(runs[0], labels),
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

/** What an agent comes to on the threads of each event, the largest first; empty where threads have none. */
export function byEvent(decisions: readonly PlacedDecision[], labels: readonly string[]) {
  const known = decisions.flatMap((own) => (own.event === null ? [] : [{ ...own, event: own.event }]));
  return [...groupBy(known, ({ event }) => event)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([event, own]) => ({
      event,
      threads: own.length,
      macroF1: macroF1({
        gold: own.map(({ gold }) => gold),
        predicted: own.map(({ predicted }) => predicted),
        classes: labels.length,
      }),
      er: mean(own.map(({ postsUsed, posts }) => postsUsed / posts)),
      medianPosts: quantile(Float64Array.from(own, ({ postsUsed }) => postsUsed).sort(), 0.5),
    }));
}

const mistakesShown = 12;

/** The most confident wrong predictions of a run, with links to the inspector. */
function mistakes(run: ReadRun, labels: readonly string[]): ReportTable | null {
  const wrong = placedDecisions(run)
    .filter(({ gold, predicted }) => gold !== predicted)
    .sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0));
  if (wrong.length === 0) return null;
  const name = (label: number) => labels[label] ?? 'not readable';
  const { seed } = run.result;
  const title = `most confident of ${wrong.length} mistakes of ${run.variant}, seed ${seed}`;
  const listed = wrong.slice(0, mistakesShown);
  return {
    heading: [title, 'true', 'predicted', 'confidence', 'posts read', 'of'],
    texts: ['true', 'predicted'],
    links: listed.map(
      ({ threadId }) => `#${new URLSearchParams({ thread: threadId, seed: String(seed), agent: run.variant })}`,
    ),
    rows: listed.map(({ threadId, gold, predicted, confidence, postsUsed, posts }) => [
      threadId,
      name(gold),
      name(predicted),
      confidence?.toFixed(2) ?? '–',
      String(postsUsed),
      String(posts),
    ]),
  };
}
