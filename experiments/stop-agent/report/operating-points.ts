import { dirname } from 'node:path';
import { groupBy } from '../../../src/data/group-by.ts';
import { fewestItems, type Interval } from '../../../src/metrics/bootstrap.ts';
import { paretoFront, upperHull } from '../../../src/metrics/pareto.ts';
import { present } from '../../../src/present.ts';
import { imitatesExperts } from '../../../trainers/stop-agent/config.ts';
import { type ForestRow, forestChart } from '../../report/charts/forest-chart.ts';
import { type FrontPoint, frontChart } from '../../report/charts/front-chart.ts';
import { overSeeds } from '../../report/over-seeds.ts';
import type { Chart } from '../../report/page/chart.ts';
import { percent, shown } from '../../report/shown-numbers.ts';
import { intervalsOf } from '../../run/scoring.ts';
import { thresholds } from '../calibrate.ts';
import { readStopProbabilities } from '../decided-files.ts';
import { agentName, decide, isLearnt, isShown, type SystemDecisions, stopByScores } from '../decisions.ts';
import { taskOf } from '../experiment.ts';
import { type ScoredStops, stopColumns, stopMetrics, stopScoring } from '../metrics.ts';
import { agentQueries, limitsOf } from '../policy-settings.ts';
import type { TrialResult } from '../result.ts';
import { optimumName } from '../stream-optimum.ts';
import type { RankedAgent } from './agents.ts';
import type { ReadRun } from './read-runs.ts';
import type { RecommendedSystem } from './recommended-system.ts';

/** Whether some labels raise alerts, which fronts are about then: predictions at the end of a thread are not what is raised early. */
const raisesAlerts = ({ alerts = [] }: ScoredStops) => alerts.length > 0;

/** What fronts measure: the worth upright, the time across. */
const aims = {
  predictions: {
    worth: { metric: 'macroF1', title: 'macro-F1', heading: 'Macro-F1' },
    time: {
      metric: 'er',
      title: 'posts read',
      axis: 'earliness: share of the posts read',
      long: 'the share of posts read',
    },
  },
  alerts: {
    worth: { metric: 'latencyF1', title: 'F latency', heading: 'F latency of alerts' },
    time: {
      metric: 'medianAlertPosts',
      title: 'delay',
      axis: 'delay: median posts to a true alert',
      long: 'the median number of posts to a true alert',
    },
  },
} as const;
type Aims = (typeof aims)[keyof typeof aims];

/** A system as a point of fronts. */
interface Placed {
  readonly worth: number;
  readonly time: number;
  readonly queries: number;
  /** Share of the posts that is read. */
  readonly er: number;
}

/** A system with its decisions, one entry per seed. */
interface PlacedSystem {
  readonly name: string;
  readonly kind: FrontPoint['kind'];
  readonly isRecommended: boolean;
  readonly isNamed: boolean;
  readonly seeds: readonly Pick<SystemDecisions, 'decisions'>[];
  /** Means over seeds that know a number; NaN where none does. */
  readonly point: Placed;
  readonly intervals: Readonly<Record<Exclude<keyof Placed, 'er'>, Interval | undefined>> | null;
  /** The command that shows these decisions again. */
  readonly repeat: string;
}

const resamples = 500;
/** Longer names of rules would lie across the chart; pointing at the rule shows them. */
const longestRuleName = 14;
/** Rules beside the recommended system, beyond which the plot would not fit on a screen. */
const rulesAtMost = 12;

/**
 * The front against posts and against queries, and how every system that tables show stands to the recommended one.
 * @param options.command what trained the agents
 * @param options.thresholds what the agents would decide at other thresholds than their own, an entry per seed
 */
export function systemCharts(
  agents: readonly RankedAgent[],
  options: {
    command: string;
    recommended: Pick<RecommendedSystem, 'variant' | 'system'> | null;
    thresholds: readonly { name: string; seeds: PlacedSystem['seeds'] }[];
  },
): { readonly forest: Chart[]; readonly fronts: Chart[] } {
  const task = agents[0].trials[0].ranking;
  const systems = [
    ...placedSystems(agents, { ...options, task }),
    ...options.thresholds.map(({ name, seeds }): PlacedSystem => {
      const kind = { kind: 'threshold', isRecommended: false, isNamed: false, intervals: null } as const;
      return { name, seeds, ...kind, point: meanPoint(seeds, task), repeat: options.command };
    }),
  ];
  const aim = raisesAlerts(task) ? aims.alerts : aims.predictions;
  return {
    forest: forestOf(systems, { task, aim }),
    fronts: [frontOf(systems, { price: 'time', aim }), frontOf(systems, { price: 'queries', aim })],
  };
}

/** Every agent of every variant, and the rules of the first variant's splits. */
function placedSystems(
  agents: readonly RankedAgent[],
  options: { command: string; recommended: Pick<RecommendedSystem, 'variant' | 'system'> | null; task: ScoredStops },
): PlacedSystem[] {
  const { command, recommended, task } = options;
  return agents.flatMap(({ variant, trials }, index) => {
    const names = [...new Set(trials.flatMap(({ decisions }) => decisions.map(({ name }) => name)))];
    return names
      .filter((name) => (isLearnt(name) ? name === agentName || imitatesExperts(trials[0]) : index === 0))
      .map((name): PlacedSystem => {
        const seeds = trials.flatMap(({ decisions }) => decisions.filter((system) => system.name === name));
        const several = agents.length > 1 && isLearnt(name);
        const shownName = !several ? name : name === agentName ? variant : `${name}: ${variant}`;
        const kind = kindOf(seeds[0]);
        return {
          name: shownName,
          kind,
          isRecommended: name === recommended?.system && (name !== agentName || variant === recommended.variant),
          isNamed: kind !== 'baseline',
          seeds,
          point: meanPoint(seeds, task),
          intervals: name === agentName ? agentIntervals(seeds, task) : null,
          repeat: name === agentName ? command : comparison(name, trials),
        };
      });
  });
}

function kindOf({ name, queries }: SystemDecisions): FrontPoint['kind'] {
  if (name === optimumName || queries === 'oracle') return 'bound';
  return name === agentName ? 'trained' : 'baseline';
}

function meanPoint(seeds: PlacedSystem['seeds'], task: ScoredStops): Placed {
  const { worth, time } = raisesAlerts(task) ? aims.alerts : aims.predictions;
  const columns = seeds.map(({ decisions }) => stopColumns(decisions, task));
  const over = (name: string) => {
    const { of } = stopMetrics.find((metric) => metric.name === name)!;
    return overSeeds(columns.map(of))?.mean ?? Number.NaN;
  };
  return { worth: over(worth.metric), time: over(time.metric), queries: over('queriesPerThread'), er: over('er') };
}

function agentIntervals(seeds: PlacedSystem['seeds'], task: ScoredStops): PlacedSystem['intervals'] {
  const { worth, time } = raisesAlerts(task) ? aims.alerts : aims.predictions;
  const drawn = seeds.map(({ decisions: first }) => ({ first }));
  const only = [worth.metric, time.metric, 'queriesPerThread'];
  const intervals = intervalsOf(stopScoring(task), drawn, { only, resamples });
  const named = (metric: string) => intervals.find(({ name }) => name === metric);
  return { worth: named(worth.metric), time: named(time.metric), queries: named('queriesPerThread') };
}

/** Compares the agent with another system on the same threads. */
function comparison(name: string, trials: readonly TrialResult[]): string {
  const [{ directory }] = trials;
  const folder = trials.length > 1 ? dirname(directory) : directory;
  return `earshot compare ${folder} ${folder} --second-system "${name}"`;
}

function frontOf(all: readonly PlacedSystem[], { price, aim }: { price: 'time' | 'queries'; aim: Aims }): Chart {
  const systems = all
    .filter(({ kind }) => price === 'time' || kind !== 'bound')
    .filter(({ point }) => Number.isFinite(point.worth) && Number.isFinite(point[price]));
  const points = systems.map((system): FrontPoint => {
    const { point, intervals, repeat, seeds } = system;
    const { worth, queries } = point;
    const facts = present([
      `${aim.worth.title} ${shown({ mean: worth, interval: intervals?.worth ?? null })}`,
      `${timeInWords(point, aim)}, ${queries.toFixed(1)} queries per thread`,
      system.kind === 'bound' && 'It knows what no policy can know.',
      seeds.length > 1 && `mean over ${seeds.length} seeds`,
      `Again: ${repeat}`,
    ]);
    return {
      ...system,
      x: point[price],
      y: worth,
      details: facts.join('\n'),
      across: intervals?.[price],
      upright: intervals?.worth,
    };
  });
  const front = paretoFront(
    points.filter(({ kind }) => kind === 'baseline').map((own) => ({ ...own, er: own.x, macroF1: own.y })),
  );
  // Mixtures of rules reach what lies between them in macro-F1, which F latency with its median does not follow.
  const line = aim === aims.predictions ? upperHull(front) : front;
  const corners = new Set(
    line.map(({ name }) => name).filter((name) => isShown(name) && name.length <= longestRuleName),
  );
  const isTime = price === 'time';
  const { worth, time } = aim;
  const dashed =
    aim === aims.predictions
      ? 'A random mixture of two rules reaches the dashed line, so training pays off above it.'
      : 'The dashed line joins the rules that no other rule beats in both.';
  return frontChart(
    points.map((own) => ({ ...own, isNamed: own.isNamed || corners.has(own.name) })),
    {
      name: isTime ? 'front' : 'front-queries',
      title: `${worth.heading} against ${isTime ? time.title : 'queries'}`,
      label: `${worth.heading} against ${isTime ? time.long : 'queries per thread'}: ${systems.length} systems. Arrow keys go through the points.`,
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

/** How long a system reads. */
function timeInWords({ time, er }: Placed, aim: Aims): string {
  if (aim === aims.predictions) return `${percent(er)} of the posts read`;
  return Number.isFinite(time) ? `half of the true alerts within ${time.toFixed(1)} posts` : 'no true alert';
}

/** The worth of every shown system minus that of the recommended one, on the same threads; nothing where these are too few. */
function forestOf(systems: readonly PlacedSystem[], { task, aim }: { task: ScoredStops; aim: Aims }): Chart[] {
  const reference = systems.find(({ isRecommended }) => isRecommended);
  if (reference === undefined) return [];
  const threadsOf = ({ seeds }: PlacedSystem) =>
    JSON.stringify(seeds.map(({ decisions }) => decisions.map(({ threadId }) => threadId)));
  const same = threadsOf(reference);
  const others = systems.filter((system) => system !== reference && threadsOf(system) === same);
  const rules = others.filter(({ kind, name }) => kind === 'baseline' && isShown(name));
  const placed = rules.filter(({ point }) => Number.isFinite(point.worth) && Number.isFinite(point.time));
  const best = paretoFront(
    placed.map((system) => ({ er: system.point.time, macroF1: system.point.worth, system })),
  ).map(({ system }) => system);
  const shownSystems = [...others.filter(({ kind }) => kind === 'trained'), ...best.slice(-rulesAtMost)];
  const isEnough = reference.seeds.every(({ decisions }) => decisions.length >= fewestItems);
  if (shownSystems.length === 0 || !isEnough) return [];
  const rows = shownSystems
    .filter(({ point }) => Number.isFinite(point.worth))
    .map(({ name, kind, point, seeds }): ForestRow => {
      const paired = seeds.map(({ decisions: first }, seed) => ({ first, second: reference.seeds[seed].decisions }));
      const [interval] = intervalsOf(stopScoring(task), paired, { only: [aim.worth.metric], resamples });
      return {
        name: `${shortTime(point, aim)} ${name}`,
        mean: point.worth - reference.point.worth,
        interval,
        isTrained: kind === 'trained',
        details: `${timeInWords(point, aim)}, ${point.queries.toFixed(1)} queries per thread`,
      };
    })
    .sort((a, b) => b.mean - a.mean);
  return [
    forestChart(rows, {
      name: 'systems',
      title: `Every system against ${reference.name}`,
      label: `${aim.worth.heading} of ${rows.length} systems minus that of ${reference.name}, with 95% intervals over threads.`,
      caption: `The trained systems and the rules that no other rule beats in both aims. Before each name, ${
        aim === aims.predictions
          ? `the share of posts that it reads; ${reference.name} reads ${percent(reference.point.er)}`
          : `${aim.time.long}; that of ${reference.name} is ${shortTime(reference.point, aim)}`
      }. Right of the line is better. Bars are 95% intervals, paired by thread.`,
      reference: 0,
      axis: `${aim.worth.title}, difference`,
      isDifference: true,
    }),
  ];
}

function shortTime({ time, er }: Placed, aim: Aims): string {
  if (aim === aims.predictions) return percent(er);
  return Number.isFinite(time) ? time.toFixed(1) : '–';
}

/** Every so many of the thresholds that `calibrate` tries: neighbours decide alike. */
const thresholdStride = 4;

/** What settled agents decide at other thresholds than their own: one training serves them all. An entry per seed. */
export function thresholdPoints(runs: readonly ReadRun[]): { name: string; seeds: SystemDecisions[] }[] {
  const settled = runs.filter(({ experiment }) => experiment.agent.algorithm === 'settled');
  return Array.from(
    groupBy(settled, ({ variant }) => variant),
    ([variant, own]) => {
      const scored = own.flatMap((run) => {
        const { result, experiment } = run;
        const scores = readStopProbabilities(result.directory, experiment.evaluation.part);
        return scores === null ? [] : [{ run, scores }];
      });
      if (scored.length < own.length) return [];
      return thresholds
        .filter((_, index) => index % thresholdStride === 1)
        .map((threshold) => ({
          name: `${variant} at ${Number(threshold.toPrecision(3))}`,
          seeds: scored.map(({ run: { experiment, judged, result, agent }, scores }) => {
            const queries = agentQueries({ experiment, schedule: result.schedule });
            const policy = { threshold, limits: limitsOf(experiment), queries, task: taskOf(experiment) };
            const stops = judged.map((thread) => stopByScores(thread, scores.get(thread.threadId) ?? [], policy));
            return decide(agent.name, judged, stops, queries);
          }),
        }));
    },
  ).flat();
}
