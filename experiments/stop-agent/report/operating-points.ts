import { dirname } from 'node:path';
import { groupBy } from '../../../src/data/group-by.ts';
import { fewestItems, type Interval } from '../../../src/metrics/bootstrap.ts';
import { type PricedPoint, paretoFront, upperHull } from '../../../src/metrics/pareto.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import { type ForestRow, forestChart } from '../../report/charts/forest-chart.ts';
import { type FrontPoint, frontChart } from '../../report/charts/front-chart.ts';
import type { Chart } from '../../report/page/chart.ts';
import { percent, shown } from '../../report/shown-numbers.ts';
import { intervalsOf } from '../../run/scoring.ts';
import { thresholds } from '../calibrate.ts';
import { readStopProbabilities } from '../decided-files.ts';
import { agentName, decide, isLearnt, isShown, type SystemDecisions, stopByScores } from '../decisions.ts';
import { taskOf } from '../experiment.ts';
import { type ScoredStops, stopColumns, stopScoring } from '../metrics.ts';
import { agentQueries, limitsOf } from '../policy-settings.ts';
import type { TrialResult } from '../result.ts';
import { optimumName } from '../stream-optimum.ts';
import type { RankedAgent } from './agents.ts';
import type { ReadRun } from './read-runs.ts';
import type { RecommendedSystem } from './recommended-system.ts';
import { placedStops } from './rule-margins.ts';

/** A system with its decisions, one entry per seed. */
interface PlacedSystem {
  readonly name: string;
  readonly kind: FrontPoint['kind'];
  readonly isRecommended: boolean;
  readonly isNamed: boolean;
  readonly seeds: readonly Pick<SystemDecisions, 'decisions'>[];
  /** Means over seeds. */
  readonly point: PricedPoint;
  readonly intervals: Readonly<Record<keyof PricedPoint, Interval>> | null;
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
  return { forest: forestOf(systems, task), fronts: [frontOf(systems, 'er'), frontOf(systems, 'queries')] };
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
      .filter((name) => index === 0 || isLearnt(name))
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

function meanPoint(seeds: PlacedSystem['seeds'], task: ScoredStops): PricedPoint {
  const points = seeds.map(({ decisions }) => placedStops(stopColumns(decisions, task)));
  const over = (aim: keyof PricedPoint) => mean(points.map((point) => point[aim]));
  return { macroF1: over('macroF1'), er: over('er'), queries: over('queries') };
}

function agentIntervals(seeds: PlacedSystem['seeds'], task: ScoredStops): PlacedSystem['intervals'] {
  const drawn = seeds.map(({ decisions: first }) => ({ first }));
  const only = ['macroF1', 'er', 'queriesPerThread'];
  const [macroF1, er, queries] = intervalsOf(stopScoring(task), drawn, { only, resamples });
  return { macroF1, er, queries };
}

/** Compares the agent with another system on the same threads. */
function comparison(name: string, trials: readonly TrialResult[]): string {
  const [{ directory }] = trials;
  const folder = trials.length > 1 ? dirname(directory) : directory;
  return `earshot compare ${folder} ${folder} --second-system "${name}"`;
}

function frontOf(all: readonly PlacedSystem[], price: 'er' | 'queries'): Chart {
  const systems = all.filter(({ kind }) => price === 'er' || kind !== 'bound');
  const points = systems.map((system): FrontPoint => {
    const { point, intervals, repeat, seeds } = system;
    const { macroF1, er, queries } = point;
    const facts = present([
      `macro-F1 ${shown({ mean: macroF1, interval: intervals?.macroF1 ?? null })}`,
      `${percent(er)} of the posts read, ${queries.toFixed(1)} queries per thread`,
      system.kind === 'bound' && 'It knows what no policy can know.',
      seeds.length > 1 && `mean over ${seeds.length} seeds`,
      `Again: ${repeat}`,
    ]);
    return {
      ...system,
      x: point[price],
      y: macroF1,
      details: facts.join('\n'),
      across: intervals?.[price],
      upright: intervals?.macroF1,
    };
  });
  const line = upperHull(
    paretoFront(points.filter(({ kind }) => kind === 'baseline').map((own) => ({ ...own, er: own.x, macroF1: own.y }))),
  );
  const corners = new Set(
    line.map(({ name }) => name).filter((name) => isShown(name) && name.length <= longestRuleName),
  );
  const isPosts = price === 'er';
  return frontChart(
    points.map((own) => ({ ...own, isNamed: own.isNamed || corners.has(own.name) })),
    {
      name: isPosts ? 'front' : 'front-queries',
      title: `Macro-F1 against ${isPosts ? 'posts read' : 'queries'}`,
      label: `Macro-F1 against ${isPosts ? 'the share of posts read' : 'queries per thread'}: ${systems.length} systems. Arrow keys go through the points.`,
      caption: isPosts
        ? 'Up and to the left is better. A random mixture of two rules reaches the dashed line, so training pays off above it. Bars are 95% intervals.'
        : 'What a system costs where judgements are paid for.',
      line,
      price: isPosts ? 'earliness: share of the posts read' : 'queries of the detector per thread',
      isLogarithmic: !isPosts,
    },
  );
}

/** Macro-F1 of every shown system minus that of the recommended one, on the same threads; nothing where these are too few. */
function forestOf(systems: readonly PlacedSystem[], task: ScoredStops): Chart[] {
  const reference = systems.find(({ isRecommended }) => isRecommended);
  if (reference === undefined) return [];
  const threadsOf = ({ seeds }: PlacedSystem) =>
    JSON.stringify(seeds.map(({ decisions }) => decisions.map(({ threadId }) => threadId)));
  const same = threadsOf(reference);
  const others = systems.filter((system) => system !== reference && threadsOf(system) === same);
  const rules = others.filter(({ kind, name }) => kind === 'baseline' && isShown(name));
  const best = paretoFront(rules.map((system) => ({ ...system.point, system }))).map(({ system }) => system);
  const shownSystems = [...others.filter(({ kind }) => kind === 'trained'), ...best.slice(-rulesAtMost)];
  const isEnough = reference.seeds.every(({ decisions }) => decisions.length >= fewestItems);
  if (shownSystems.length === 0 || !isEnough) return [];
  const rows = shownSystems
    .map(({ name, kind, point, seeds }): ForestRow => {
      const { er, queries } = point;
      const paired = seeds.map(({ decisions: first }, seed) => ({ first, second: reference.seeds[seed].decisions }));
      const [interval] = intervalsOf(stopScoring(task), paired, { only: ['macroF1'], resamples });
      return {
        name: `${percent(er)} ${name}`,
        mean: point.macroF1 - reference.point.macroF1,
        interval,
        isTrained: kind === 'trained',
        details: `${percent(er)} of the posts read, ${queries.toFixed(1)} queries per thread`,
      };
    })
    .sort((a, b) => b.mean - a.mean);
  return [
    forestChart(rows, {
      name: 'systems',
      title: `Every system against ${reference.name}`,
      label: `Macro-F1 of ${rows.length} systems minus that of ${reference.name}, with 95% intervals over threads.`,
      caption: `The trained systems and the rules that no other rule beats in both aims. Before each name, the share of posts that it reads; ${reference.name} reads ${percent(reference.point.er)}. Right of the line is better. Bars are 95% intervals, paired by thread.`,
      reference: 0,
      axis: 'macro-F1, difference',
      isDifference: true,
    }),
  ];
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
