import { dominatedArea, marginToFront, type OperatingPoint } from '../../src/metrics/pareto.ts';
import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';
import type { SystemScores } from '../stop-agent/decisions.ts';
import { agentName, cloningName, type TrialResult } from '../stop-agent/trial.ts';

export interface MeanAndDeviation {
  readonly mean: number;
  readonly deviation: number | null;
}

/** A system over the seeds. */
export interface SystemSummary {
  readonly name: string;
  readonly calls: SystemScores['calls'];
  readonly macroF1: MeanAndDeviation;
  readonly er: MeanAndDeviation;
  readonly delayPosts: MeanAndDeviation;
  readonly delayHours: MeanAndDeviation | null;
  readonly callsPerThread: number;
  /** The position most often most common over the seeds, and the mean share of threads stopped there. */
  readonly mostCommonStop: { readonly name: string; readonly share: number };
  readonly seeds: number;
}

export function summarize(trials: readonly TrialResult[]): SystemSummary[] {
  const named = new Map(trials.flatMap(({ systems }) => systems.map(({ name, calls }) => [name, calls] as const)));
  return Array.from(named, ([name, calls]) => {
    const own = trials.flatMap((trial) => trial.systems.filter((system) => system.name === name));
    const over = (of: (system: SystemScores) => number) => meanAndDeviation(own.map(of));
    const hours = own.flatMap(({ delayHours }) => (delayHours === null ? [] : [delayHours]));
    return {
      name,
      calls,
      macroF1: over((system) => system.macroF1),
      er: over((system) => system.er),
      delayPosts: over((system) => system.delayPosts),
      delayHours: hours.length === 0 ? null : meanAndDeviation(hours),
      callsPerThread: over((system) => system.callsPerThread).mean,
      mostCommonStop: {
        name: mostFrequent(own.map(({ mostCommonStop }) => mostCommonStop.name)),
        share: over(({ mostCommonStop }) => mostCommonStop.share).mean,
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
    const rules: OperatingPoint[] = systems.filter(
      ({ name, calls }) => name !== agentName && calls === 'one' && name !== cloningName,
    );
    if (agent === undefined) throw new Error('a trial has no agent');
    const margins = marginToFront(agent, rules);
    return {
      ruleArea: dominatedArea(rules),
      areaWithAgent: dominatedArea([...rules, agent]),
      // Nothing is earlier than the first post, which is among the rules; an agent can tie with it but not precede it.
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

/** An agent that stops so large a share of the threads at one position has learned little more than a fixed rule. */
export const collapsedShare = 0.9;
