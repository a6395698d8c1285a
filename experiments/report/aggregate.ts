import { bootstrapGroups } from '../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../src/metrics/classification.ts';
import { marginToFront, marginWithin, type PricedPoint } from '../../src/metrics/pareto.ts';
import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';
import { agentName, isLearnt, type SystemDecisions } from '../stop-agent/decisions.ts';
import { type SystemScores, stopMetrics } from '../stop-agent/metrics.ts';
import type { TrialResult } from '../stop-agent/result.ts';

export interface MeanAndDeviation {
  readonly mean: number;
  readonly deviation: number | null;
}

/** `0.512 ± 0.031`, or the mean alone of a single value; with a sign where it is a difference. */
export function plusMinus(
  { mean, deviation }: MeanAndDeviation,
  options: { digits?: number; signed?: boolean } = {},
): string {
  const { digits = 3, signed = false } = options;
  const shown = `${signed && mean >= 0 ? '+' : ''}${mean.toFixed(digits)}`;
  return deviation === null ? shown : `${shown} ± ${deviation.toFixed(digits)}`;
}

/** A system over the seeds. */
export interface SystemSummary {
  readonly name: string;
  readonly calls: SystemScores['calls'];
  /** Of every metric, by its name; null where no seed knows it. */
  readonly values: Readonly<Record<string, MeanAndDeviation | null>>;
  /** The position that is the most common stop of most seeds, and the mean share of threads stopped there. */
  readonly mostCommonStop: { readonly name: string; readonly share: number };
  readonly seeds: number;
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
      seeds: own.length,
    };
  });
}

function mostFrequent(names: readonly string[]): string {
  const count = (name: string) => names.filter((other) => other === name).length;
  return [...names].sort((a, b) => count(b) - count(a))[0];
}

/** A mean over seeds with a 95 % interval: a bootstrap over seeds and the threads of each. */
export interface Margin extends MeanAndDeviation {
  readonly low: number;
  readonly high: number;
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

export function compareToFront(trials: readonly TrialResult[]): FrontComparison {
  const seeds = trials.map(({ decisions, systems }) => {
    const classes = Object.keys(systems[0].f1ByLabel).length;
    const agent = decisions.find(({ name }) => name === agentName);
    if (agent === undefined) throw new Error('a trial has no agent');
    const rules = decisions.filter(({ name, calls }) => !isLearnt(name) && calls !== 'oracle');
    const [own, ...others] = [agent, ...rules].map((system) => operatingPointOf(system, classes));
    return { threads: agent.decisions.length, own, others, isOneCall: rules.map(({ calls }) => calls === 'one') };
  });
  const margins = (seed: number, items: Int32Array): (number | null)[] => {
    const { own, others, isOneCall } = seeds[seed];
    const point = own(items);
    const points = others.map((other) => other(items));
    const oneCall = marginToFront(
      point,
      points.filter((_, index) => isOneCall[index]),
    );
    return [
      oneCall?.overStaircase ?? null,
      oneCall?.overHull ?? null,
      marginWithin(point, points),
      marginToFront(point, points)?.overHull ?? null,
    ];
  };
  const intervals = bootstrapGroups({
    groups: seeds.map(({ threads }) => threads),
    seed: 1,
    resamples,
    statistics: (seed, items) => margins(seed, items).map((margin) => margin ?? Number.NaN),
  });
  const perSeed = seeds.map(({ threads }, seed) =>
    margins(
      seed,
      Int32Array.from({ length: threads }, (_, item) => item),
    ),
  );
  const [overBestRule, overOneCall, overEqualCalls, overAnyCalls] = intervals.map(
    ({ low, high }, index): Margin | null => {
      const known = perSeed.flatMap((own) => own[index] ?? []);
      return known.length === 0 ? null : { ...meanAndDeviation(known), low, high };
    },
  );
  return { overBestRule, overOneCall, overEqualCalls, overAnyCalls };
}

/** A function that places a system by its decisions on some of the threads. */
function operatingPointOf({ decisions }: SystemDecisions, classes: number): (items: Int32Array) => PricedPoint {
  const gold = Int8Array.from(decisions, (own) => own.gold);
  const predicted = Int8Array.from(decisions, (own) => own.predicted);
  const shares = Float64Array.from(decisions, ({ postsUsed, posts }) => postsUsed / posts);
  const calls = Float64Array.from(decisions, (own) => own.calls ?? 1);
  const mean = (values: Float64Array, items: Int32Array) =>
    items.reduce((sum, item) => sum + values[item], 0) / items.length;
  return (items) => ({
    macroF1: macroF1({ gold, predicted, classes, items }),
    er: mean(shares, items),
    calls: mean(calls, items),
  });
}

/** An agent that stops so large a share of the threads at one position has learned little more than a fixed rule. */
export const collapsedShare = 0.9;
