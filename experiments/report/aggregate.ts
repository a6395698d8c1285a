import { dominatedArea, marginToFront, type OperatingPoint } from '../../src/metrics/pareto.ts';
import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';
import { agentName, cloningName } from '../stop-agent/decisions.ts';
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

/** How the agent stands to all rules that, like it, call the detector once; means over seeds. */
export interface FrontComparison {
  /** Dominated area of the rules, and of the rules with the agent. */
  readonly ruleArea: MeanAndDeviation;
  readonly areaWithAgent: MeanAndDeviation;
  /** Macro-F1 above the best rule as early or earlier, and above every mixture of two rules at the same ER. */
  readonly overStaircase: MeanAndDeviation;
  readonly overHull: MeanAndDeviation;
}

export function compareToFront(trials: readonly TrialResult[]): FrontComparison {
  const perSeed = trials.map(({ systems }) => {
    const agent = systems.find(({ name }) => name === agentName);
    const rules = systems
      .filter(({ name, calls }) => name !== agentName && calls === 'one' && name !== cloningName)
      .map(operatingPoint);
    if (agent === undefined) throw new Error('a trial has no agent');
    const point = operatingPoint(agent);
    const margins = marginToFront(point, rules);
    return {
      ruleArea: dominatedArea(rules),
      areaWithAgent: dominatedArea([...rules, point]),
      // The first post is among the rules. An agent can be as early as that, never earlier, so margins are known.
      overStaircase: margins?.overStaircase ?? 0,
      overHull: margins?.overHull ?? 0,
    };
  });
  const over = (name: keyof (typeof perSeed)[number]) => meanAndDeviation(perSeed.map((seed) => seed[name]));
  return {
    ruleArea: over('ruleArea'),
    areaWithAgent: over('areaWithAgent'),
    overStaircase: over('overStaircase'),
    overHull: over('overHull'),
  };
}

function operatingPoint({ values: { er, macroF1 } }: SystemScores): OperatingPoint {
  if (er === null || macroF1 === null) throw new Error('a system has no early rate or no macro-F1');
  return { er, macroF1 };
}

/** An agent that stops so large a share of the threads at one position has learned little more than a fixed rule. */
export const collapsedShare = 0.9;
