import { groupBy } from '../../../src/data/group-by.ts';
import type { Interval } from '../../../src/metrics/bootstrap.ts';
import { paretoFront, upperHull } from '../../../src/metrics/pareto.ts';
import { present } from '../../../src/present.ts';
import { imitatesExperts } from '../../../trainers/stop-agent/config.ts';
import { type FrontPoint, frontChart } from '../../report/charts/front-chart.ts';
import type { Chart } from '../../report/page/chart.ts';
import { overSeeds, percent, shown } from '../../report/shown-numbers.ts';
import { intervalsOf } from '../../run/scoring.ts';
import { thresholds } from '../calibrate.ts';
import { agentName, decide, isLearnt, isShown, type SystemDecisions, stopByScores } from '../decisions.ts';
import { taskOf } from '../experiment.ts';
import { metricNamed, type ScoredStops, stopColumns, stopScoring } from '../metrics.ts';
import { agentQueries, limitsOf } from '../policy-settings.ts';
import { optimumName } from '../stream-optimum.ts';
import type { RankedAgent } from './agents.ts';
import type { RecommendedSystem } from './conclusion.ts';
import type { ReadRun } from './read-runs.ts';

/** The axes of fronts: worth upright, time across. Alerts have their own, because most threads are read to their end then. */
const aims = {
  predictions: {
    worth: { metric: 'macroF1', title: 'macro-F1', heading: 'Macro-F1' },
    time: { metric: 'er', title: 'posts read', axis: 'earliness: share of the posts read' },
    inWords: (time: number) => `${percent(time)} of the posts read`,
    // Mixtures of rules reach what lies between them in macro-F1, which F latency with its median does not follow.
    lineOf: upperHull,
    dashed: 'A random mixture of two rules reaches the dashed line, so training pays off above it.',
  },
  alerts: {
    worth: { metric: 'latencyF1', title: 'F latency', heading: 'F latency of alerts' },
    time: { metric: 'medianAlertPosts', title: 'delay', axis: 'delay: median posts to a true alert' },
    inWords: (time: number) =>
      Number.isFinite(time) ? `half of the true alerts within ${time.toFixed(1)} posts` : 'no true alert',
    lineOf: paretoFront,
    dashed: 'The dashed line joins the rules that no other rule beats in both.',
  },
} as const;
type Aim = (typeof aims)[keyof typeof aims];

const prices = ['time', 'queries'] as const;
type Price = (typeof prices)[number];

/** A system with its decisions, one entry per seed. */
interface PlacedSystem {
  readonly name: string;
  readonly kind: FrontPoint['kind'];
  readonly isRecommended: boolean;
  readonly seeds: readonly Pick<SystemDecisions, 'decisions'>[];
}

interface FrontOptions {
  readonly recommended: Pick<RecommendedSystem, 'variant' | 'system'> | null;
  /** Decisions of the agents at other thresholds, one entry per seed. */
  readonly thresholds: readonly { name: string; seeds: PlacedSystem['seeds'] }[];
}

const resamples = 500;
/** Longer names of rules would lie across the chart; pointing at the rule shows them. */
const longestRuleName = 14;

/** The front against posts and against queries. */
export function frontCharts(agents: readonly RankedAgent[], options: FrontOptions): Chart[] {
  const task = agents[0].trials[0].ranking;
  const aim = (task.alerts ?? []).length > 0 ? aims.alerts : aims.predictions;
  const systems = [
    ...placedSystems(agents, options),
    ...options.thresholds.map((threshold): PlacedSystem => {
      return { ...threshold, kind: 'threshold', isRecommended: false };
    }),
  ];
  const points = systems.map((system) => frontPoint(system, { task, aim }));
  return prices.map((price) => frontOf(points, { price, aim }));
}

/** Every agent of every variant, and the rules of the first variant's splits. */
function placedSystems(agents: readonly RankedAgent[], { recommended }: FrontOptions): PlacedSystem[] {
  return agents.flatMap(({ variant, trials }, index) => {
    const names = [...new Set(trials.flatMap(({ decisions }) => decisions.map(({ name }) => name)))];
    return names
      .filter((name) =>
        isLearnt(name) ? name === agentName || imitatesExperts(trials[0].experiment.agent) : index === 0,
      )
      .map((name): PlacedSystem => {
        const seeds = trials.flatMap(({ decisions }) => decisions.filter((system) => system.name === name));
        const isAgent = name === agentName;
        const several = agents.length > 1 && isLearnt(name);
        return {
          name: !several ? name : isAgent ? variant : `${name}: ${variant}`,
          kind: kindOf(seeds[0]),
          isRecommended: name === recommended?.system && (!isAgent || variant === recommended.variant),
          seeds,
        };
      });
  });
}

function kindOf({ name, queries }: SystemDecisions): FrontPoint['kind'] {
  if (name === optimumName || queries === 'oracle') return 'bound';
  return name === agentName ? 'trained' : 'baseline';
}

/** A system on both fronts: means over the seeds that know a number, NaN where none does; intervals over threads and seeds. */
interface PlacedPoint extends Omit<FrontPoint, 'x' | 'across'> {
  readonly at: Readonly<Record<Price, number>>;
  readonly intervals: Readonly<Record<Price, Interval | undefined>>;
}

function frontPoint(system: PlacedSystem, { task, aim }: { task: ScoredStops; aim: Aim }): PlacedPoint {
  const { name, kind, isRecommended, seeds } = system;
  const columns = seeds.map(({ decisions }) => stopColumns(decisions, task));
  const over = (metric: string) => overSeeds(columns.map(metricNamed(metric).of))?.mean ?? Number.NaN;
  const metrics = { worth: aim.worth.metric, time: aim.time.metric, queries: 'queriesPerThread' };
  const drawn = seeds.map(({ decisions: first }) => ({ first }));
  const only = Object.values(metrics);
  const intervals = kind === 'trained' ? intervalsOf(stopScoring(task), drawn, { only, resamples }) : [];
  const within = (metric: string): Interval | undefined => intervals.find((interval) => interval.name === metric);
  const [y, time, queries] = only.map(over);
  const upright = within(metrics.worth);
  const facts = present([
    `${aim.worth.title} ${shown({ mean: y, interval: upright ?? null })}`,
    `${aim.inWords(time)}, ${queries.toFixed(1)} queries per thread`,
    kind === 'bound' && 'It knows what no policy can know.',
    seeds.length > 1 && `mean over ${seeds.length} seeds`,
  ]);
  return {
    ...{ name, kind, isRecommended, y, details: facts.join('\n') },
    ...(upright !== undefined && { upright }),
    at: { time, queries },
    intervals: { time: within(metrics.time), queries: within(metrics.queries) },
  };
}

function frontOf(all: readonly PlacedPoint[], { price, aim }: { price: Price; aim: Aim }): Chart {
  const isTime = price === 'time';
  const points = all
    .filter(({ kind, y, at }) => (isTime || kind !== 'bound') && Number.isFinite(y) && Number.isFinite(at[price]))
    .map(({ at, intervals, ...point }) => ({ ...point, x: at[price], across: intervals[price] }));
  const rules = points
    .filter(({ kind }) => kind === 'baseline')
    .map((point) => ({ ...point, er: point.x, macroF1: point.y }));
  const line = aim.lineOf(paretoFront(rules));
  const named = line.filter(({ name }) => isShown(name) && name.length <= longestRuleName).map(({ name }) => name);
  const { worth, time, dashed } = aim;
  return frontChart(
    points.map((point) => ({
      ...point,
      isNamed: ['trained', 'bound'].includes(point.kind) || named.includes(point.name),
    })),
    {
      name: isTime ? 'front' : 'front-queries',
      title: `${worth.heading} against ${isTime ? time.title : 'queries'}`,
      label: `${worth.heading} of ${points.length} systems against ${isTime ? time.title : 'queries per thread'}.`,
      caption: isTime
        ? `Up and to the left is better. ${dashed} Bars are 95% intervals.`
        : 'What a system costs where judgements are paid for.',
      line,
      worth: worth.title,
      price: isTime ? time.axis : 'queries of the detector per thread',
      isLogarithmic: !isTime,
    },
  );
}

/** Every so many of the thresholds that `calibrate` tries: neighbours decide alike. */
const thresholdStride = 4;

/** Decisions of settled agents at other thresholds, which one training serves; one entry per seed. */
export function thresholdPoints(runs: readonly ReadRun[]): { name: string; seeds: SystemDecisions[] }[] {
  const settled = runs.filter(({ result }) => result.experiment.agent.algorithm === 'settled');
  return Array.from(
    groupBy(settled, ({ variant }) => variant),
    ([variant, systems]) => {
      const scored = systems.flatMap((run) => {
        const { stopProbabilities: scores } = run;
        return scores === null ? [] : [{ run, scores }];
      });
      if (scored.length < systems.length) return [];
      return thresholds
        .filter((_, index) => index % thresholdStride === 1)
        .map((threshold) => ({
          name: `${variant} at ${Number(threshold.toPrecision(3))}`,
          seeds: scored.map(({ run: { result, judged, agent }, scores }) => {
            const { experiment } = result;
            const queries = agentQueries(experiment);
            const policy = { threshold, limits: limitsOf(experiment), queries, task: taskOf(experiment) };
            const stops = judged.map((thread) => stopByScores(thread, scores.get(thread.threadId) ?? [], policy));
            return decide(agent.name, judged, stops, queries);
          }),
        }));
    },
  ).flat();
}
