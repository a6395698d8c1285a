import { bootstrapGroups, fewestItems, type Interval } from '../../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../../src/metrics/classification.ts';
import { bestMixture, meanOf, type PricedPoint, paretoFront } from '../../../src/metrics/pareto.ts';
import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { type MeanAndDeviation, plusMinus, signed } from '../../report/shown-numbers.ts';
import { agentName, isLearnt, type SystemDecisions } from '../decisions.ts';
import { type SystemScores, stopMetrics } from '../metrics.ts';
import type { TrialResult } from '../result.ts';

/** A system over the seeds. */
export interface SystemSummary {
  readonly name: string;
  readonly calls: SystemScores['calls'];
  /** Of every metric, by its name; null where no seed knows it. */
  readonly values: Readonly<Record<string, MeanAndDeviation | null>>;
  /** The position that is the most common stop of most seeds, and the mean share of threads stopped there. */
  readonly mostCommonStop: { readonly name: string; readonly share: number };
}

export function summarize(trials: readonly TrialResult[]): SystemSummary[] {
  const named = new Map(trials.flatMap(({ systems }) => systems.map(({ name, calls }) => [name, calls] as const)));
  return Array.from(named, ([name, calls]) => {
    const own = trials.flatMap((trial) => trial.systems.filter((system) => system.name === name));
    const over = (metric: string) => {
      const known = own.flatMap(({ values }) => values[metric] ?? []);
      return known.length === 0 ? null : meanAndDeviation(known);
    };
    return {
      name,
      calls,
      values: Object.fromEntries(stopMetrics.map((metric) => [metric.name, over(metric.name)])),
      mostCommonStop: {
        name: mostFrequent(own.map(({ mostCommonStop }) => mostCommonStop.name)),
        share: meanAndDeviation(own.map(({ mostCommonStop }) => mostCommonStop.share)).mean,
      },
    };
  });
}

function mostFrequent(names: readonly string[]): string {
  const count = (name: string) => names.filter((other) => other === name).length;
  return [...names].sort((a, b) => count(b) - count(a))[0];
}

/** A mean over seeds with a 95 % interval: a bootstrap over seeds and the threads of each; null where these are too few for one. */
export interface Margin extends MeanAndDeviation {
  readonly interval: Interval | null;
}

/**
 * How far an agent's macro-F1 is above what rules attain that are as early and may ask the detector as often as the name
 * says, mixtures of rules included; null where no rule may.
 */
export interface FrontComparison {
  /** Single rules that call the detector once, and mixtures of them. */
  readonly overBestRule: Margin | null;
  readonly overOneCall: Margin | null;
  /** Mixtures that call it as often as the agent. */
  readonly overEqualCalls: Margin | null;
  /** Mixtures that call it as often as they like. */
  readonly overAnyCalls: Margin | null;
}

const resamples = 1000;

/**
 * The best rules are picked by the scores they are compared on, which favours them. The intervals keep what was picked: a
 * bootstrap that picked anew would add the luck of every resample to that.
 */
export function compareToFront(trials: readonly TrialResult[]): FrontComparison {
  const seeds = trials.map(picked);
  const intervals = bootstrapGroups({
    groups: seeds.map(({ threads }) => threads),
    seed: 1,
    resamples,
    statistics(seed, items) {
      const { agent, mixtures } = seeds[seed];
      const own = agent(items).macroF1;
      return mixtures.map((mixture) =>
        mixture === null
          ? Number.NaN
          : own - mixture.reduce((sum, { point, share }) => sum + share * point.at(items).macroF1, 0),
      );
    },
    scoreRange: () => [-1, 1],
  });
  const all = seeds.map(({ agent, threads, mixtures }) => {
    const { macroF1: own } = agent(everyItem(threads));
    return mixtures.map((mixture) => (mixture === null ? null : own - meanOf(mixture, 'macroF1')));
  });
  const isEnough = seeds.every(({ threads }) => threads >= fewestItems);
  const [overBestRule, overOneCall, overEqualCalls, overAnyCalls] = intervals.map(
    ({ low, high }, index): Margin | null => {
      const known = all.flatMap((own) => own[index] ?? []);
      const interval = isEnough ? { low, high } : null;
      return known.length === 0 ? null : { ...meanAndDeviation(known), interval };
    },
  );
  return { overBestRule, overOneCall, overEqualCalls, overAnyCalls };
}

/** The agent of a trial, and what is best within each of its budgets, in the order of `FrontComparison`. */
function picked({ decisions, systems }: TrialResult) {
  const classes = Object.keys(systems[0].f1ByLabel).length;
  const system = decisions.find(({ name }) => name === agentName);
  if (system === undefined) throw new Error('a trial has no agent');
  const threads = system.decisions.length;
  const agent = operatingPointOf(system, classes);
  const { er, calls } = agent(everyItem(threads));
  const rules = decisions
    .filter((own) => !isLearnt(own.name) && own.calls !== 'oracle')
    .map((own) => {
      const at = operatingPointOf(own, classes);
      return { ...at(everyItem(threads)), at, asksOnce: own.calls === 'one' };
    });
  const oneCall = rules.filter(({ asksOnce }) => asksOnce);
  const best = paretoFront(oneCall).findLast((rule) => rule.er <= er);
  const mixtures = [
    best === undefined ? null : [{ point: best, share: 1 }],
    bestMixture(oneCall, { er, calls }),
    bestMixture(rules, { er, calls }),
    bestMixture(rules, { er, calls: Number.POSITIVE_INFINITY }),
  ];
  return { threads, agent, mixtures };
}

export function everyItem(threads: number): Int32Array {
  return Int32Array.from({ length: threads }, (_, item) => item);
}

/** A function that places a system by its decisions on some of the threads. */
export function operatingPointOf({ decisions }: SystemDecisions, classes: number): (items: Int32Array) => PricedPoint {
  const gold = Int8Array.from(decisions, (own) => own.gold);
  const predicted = Int8Array.from(decisions, (own) => own.predicted);
  const shares = Float64Array.from(decisions, ({ postsUsed, posts }) => postsUsed / posts);
  const calls = Float64Array.from(decisions, (own) => own.calls);
  const mean = (values: Float64Array, items: Int32Array) =>
    items.reduce((sum, item) => sum + values[item], 0) / items.length;
  return (items) => ({
    macroF1: macroF1({ gold, predicted, classes, items }),
    er: mean(shares, items),
    calls: mean(calls, items),
  });
}

/** The rule that a reader would use in place of an agent: the best that reads and queries no more. */
export function ruleInPlace<System extends Pick<SystemSummary, 'name' | 'calls' | 'values'>>(
  systems: readonly System[],
): System | undefined {
  const limits = systems.find(({ name }) => name === agentName)?.values;
  const within = (metric: 'er' | 'callsPerThread', system: System, none: number) =>
    (system.values[metric]?.mean ?? none) <= (limits?.[metric]?.mean ?? 0) + 1e-9;
  return systems
    .filter((system) => !isLearnt(system.name) && system.calls !== 'oracle' && within('er', system, Infinity))
    .filter((rule) => within('callsPerThread', rule, 0))
    .toSorted((a, b) => (b.values.macroF1?.mean ?? 0) - (a.values.macroF1?.mean ?? 0))[0];
}

/** An agent that stops so large a share of the threads at one position has learned little more than a fixed rule. */
export const collapsedShare = 0.9;

export function isCollapsed({ mostCommonStop }: SystemSummary): boolean {
  return mostCommonStop.share >= collapsedShare;
}

/** `+0.014 ± 0.016 [+0.001, +0.027]`, or the mean alone where there is no interval; without the deviation unless asked for. */
export function shownMargin(margin: Margin, { withDeviation = false }: { withDeviation?: boolean } = {}): string {
  const mean = plusMinus(withDeviation ? margin : { ...margin, deviation: null }, { isDifference: true });
  if (margin.interval === null) return mean;
  return `${mean} [${signed(margin.interval.low, 3)}, ${signed(margin.interval.high, 3)}]`;
}
