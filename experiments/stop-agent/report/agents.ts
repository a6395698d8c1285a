import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import type { Estimate } from '../../report/shown-numbers.ts';
import { valuesOverSeeds } from '../../report/shown-numbers.ts';
import { agentName, isLearnt } from '../decisions.ts';
import { type SystemScores, shownValues } from '../metrics.ts';
import { testedGuarantee } from '../operating-point.ts';
import { worth } from '../recommendation.ts';
import type { TrialResult } from '../result.ts';
import { isCollapsed } from './collapse.ts';
import { compareToRules, type RuleMargins } from './rule-margins.ts';

/** A system over the seeds. */
export interface SystemSummary extends Pick<SystemScores, 'name' | 'queries'> {
  /** Of every metric, by its name; null where no seed knows it. */
  readonly values: Readonly<Record<string, Estimate | null>>;
  /** The position that is the most common stop of most seeds, and the mean share of threads that each seed stops at its own. */
  readonly mostCommonStop: { readonly name: string; readonly share: number };
}

export function summarize(trials: readonly TrialResult[]): SystemSummary[] {
  const named = new Map(trials.flatMap(({ systems }) => systems.map(({ name, queries }) => [name, queries] as const)));
  return Array.from(named, ([name, queries]) => {
    const scores = trials.flatMap((trial) => trial.systems.filter((system) => system.name === name));
    const stops = scores.map(({ mostCommonStop }) => mostCommonStop);
    const count = (stop: string) => stops.filter((other) => other.name === stop).length;
    const stopOverSeeds = (stop: string) =>
      count(stop) === stops.length ? stop : `${stop} in ${count(stop)} of ${stops.length} seeds, another in the others`;
    const [mostCommon] = stops.toSorted((a, b) => count(b.name) - count(a.name));
    return {
      name,
      queries,
      values: valuesOverSeeds(scores.map(shownValues)),
      mostCommonStop: { name: stopOverSeeds(mostCommon.name), share: mean(stops.map(({ share }) => share)) },
    };
  });
}

/** An agent over its seeds, and how it stands. */
export interface RankedAgent extends VariantResults<TrialResult> {
  /** Every system of its runs. */
  readonly systems: readonly SystemSummary[];
  readonly agent: SystemSummary;
  readonly margins: RuleMargins;
  /** The value to the user, on the part that agents are chosen on; mean over seeds. */
  readonly worth: number;
  /** It stops nearly every thread at the same place there. */
  readonly isCollapsed: boolean;
  /** Whether some of its trials were tested by a guarantee. */
  readonly hasGuarantee: boolean;
  /** The trial that is worth most, with a guarantee where some have one. */
  readonly bestTrial: TrialResult;
}

/**
 * Orders agents by what they are worth on the development part, or where there is none on the decided one. Costs and prices are those
 * of the first agent for all of them; those that collapsed come last.
 */
export function rankedAgents(results: readonly VariantResults<TrialResult>[]): RankedAgent[] {
  const { of: worthOf } = worth(results[0].trials[0].ranking);
  const agents = results.map(({ variant, trials }): RankedAgent => {
    const scores = trials.map(({ ranking }) => ranking.agent);
    const worths = scores.map(({ values }) => worthOf(values));
    const systems = summarize(trials);
    const guaranteed = trials.map(({ directory: path }) => testedGuarantee({ path }) !== null);
    const hasGuarantee = guaranteed.includes(true);
    const deployable = worths.map((worth, trial) =>
      guaranteed[trial] === hasGuarantee ? worth : Number.NEGATIVE_INFINITY,
    );
    const agent = systems.find((system) => system.name === agentName)!;
    const { alerts } = trials[0].ranking;
    const [{ mostCommonStop: common }] = scores;
    const mostCommonStop = { name: common.name, share: mean(scores.map(({ mostCommonStop }) => mostCommonStop.share)) };
    return {
      variant,
      trials,
      systems,
      agent,
      margins: compareToRules(trials),
      worth: mean(worths),
      hasGuarantee,
      bestTrial: trials[deployable.indexOf(Math.max(...deployable))],
      isCollapsed: isCollapsed({ mostCommonStop, alerts }),
    };
  });
  return agents.sort((a, b) => Number(a.isCollapsed) - Number(b.isCollapsed) || b.worth - a.worth);
}

/** Whether some labels of the task raise alerts, which other numbers speak of than of early decisions. */
export function raisesAlerts([{ trials }]: readonly Pick<RankedAgent, 'trials'>[]): boolean {
  return trials[0].ranking.alerts !== undefined;
}

/**
 * The rule that a reader would use in place of an agent: the best that reads and queries no more. Of alerts it is the one with the best
 * F latency, which counts their time, among those that query no more: threads without an alert are read to their end.
 */
export function ruleInPlace<System extends Pick<SystemSummary, 'name' | 'queries' | 'values'>>(
  systems: readonly System[],
): System | undefined {
  const limits = systems.find(({ name }) => name === agentName)?.values;
  const aim = (limits?.latencyF1 ?? null) === null ? 'macroF1' : 'latencyF1';
  const isWithin = ({ values }: System, metric: 'er' | 'queriesPerThread', none: number) =>
    (values[metric]?.mean ?? none) <= (limits?.[metric]?.mean ?? 0) + 1e-9;
  return systems
    .filter((system) => !isLearnt(system.name) && system.queries !== 'oracle')
    .filter((rule) => (aim === 'latencyF1' || isWithin(rule, 'er', Infinity)) && isWithin(rule, 'queriesPerThread', 0))
    .toSorted((a, b) => (b.values[aim]?.mean ?? 0) - (a.values[aim]?.mean ?? 0))[0];
}
