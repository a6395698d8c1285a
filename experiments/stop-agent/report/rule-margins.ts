import { bootstrapGroups, fewestItems } from '../../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../../src/metrics/classification.ts';
import { haveSameItems } from '../../../src/metrics/metric-intervals.ts';
import { bestMixture, type Mixture, meanOf, type PricedPoint, paretoFront } from '../../../src/metrics/pareto.ts';
import type { Estimate } from '../../report/shown-numbers.ts';
import { overSeeds } from '../../report/shown-numbers.ts';
import { agentName, isLearnt, type SystemDecisions } from '../decisions.ts';
import { type DecisionColumns, stopColumns, stopMetrics } from '../metrics.ts';
import type { TrialResult } from '../result.ts';

/**
 * How far an agent's macro-F1 is above that of rules which are as early, mixtures of rules included: mean over seeds, with a 95%
 * interval by a bootstrap over seeds and the threads of each, unless these are too few. Null where no rule is as early and queries as
 * seldom.
 */
export interface RuleMargins {
  /** Single rules that query the detector once, and mixtures of them. */
  readonly overBestRule: Estimate | null;
  readonly overOneQuery: Estimate | null;
  /** Mixtures that query it as often as the agent. */
  readonly overEqualQueries: Estimate | null;
  /** Mixtures that query it as often as they like. */
  readonly overAnyQueries: Estimate | null;
  /** The rules that the agent is compared with, by budget. */
  readonly rules: Readonly<Record<RuleBudget, RulesWithin | null>>;
}

/** Which rules an agent is compared with. */
export const ruleBudgets = ['overBestRule', 'overOneQuery', 'overEqualQueries', 'overAnyQueries'] as const;
type RuleBudget = (typeof ruleBudgets)[number];

/** The best rule or mixture of rules within a budget: means over the seeds that have one. */
export interface RulesWithin {
  readonly macroF1: Estimate | null;
  readonly er: Estimate | null;
  readonly queriesPerThread: Estimate | null;
  readonly seeds: number;
}

const resamples = 1000;

/**
 * The best rules are picked by the scores that they are compared on, which favours them. The intervals keep what was picked: a
 * bootstrap that picked again would add the luck of every resample to that.
 */
export function compareToRules(trials: readonly TrialResult[]): RuleMargins {
  const seeds = trials.map(picked);
  const leads = ({ agent, mixtures }: (typeof seeds)[number], items: Int32Array) => {
    const score = macroF1({ ...agent.columns, items });
    return mixtures.map((mixture) => (mixture === null ? Number.NaN : score - macroF1On(mixture, items)));
  };
  const intervals = bootstrapGroups({
    groups: seeds.map(({ agent }) => agent.columns.items.length),
    sameItems: haveSameItems(trials.map(({ decisions: [{ decisions }] }) => decisions.map(({ threadId }) => threadId))),
    seed: 1,
    resamples,
    statistics: (seed, items) => leads(seeds[seed], items),
    scoreRange: () => [-1, 1],
  });
  const all = seeds.map(({ agent, mixtures }) =>
    mixtures.map((mixture) => (mixture === null ? null : agent.macroF1 - meanOf(mixture, 'macroF1'))),
  );
  const isEnough = seeds.every(({ agent }) => agent.columns.items.length >= fewestItems);
  const [overBestRule, overOneQuery, overEqualQueries, overAnyQueries] = intervals.map((interval, index) => {
    const lead = overSeeds(all.map((leads) => leads[index]));
    return lead && { ...lead, interval: isEnough ? interval : null };
  });
  const rulesWithin = (index: number): RulesWithin | null => {
    const mixturesOfSeeds = seeds.flatMap(({ mixtures }) => (mixtures[index] === null ? [] : [mixtures[index]]));
    const over = (aim: keyof PricedPoint) => overSeeds(mixturesOfSeeds.map((mixture) => meanOf(mixture, aim)));
    if (mixturesOfSeeds.length === 0) return null;
    return {
      macroF1: over('macroF1'),
      er: over('er'),
      queriesPerThread: over('queries'),
      seeds: mixturesOfSeeds.length,
    };
  };
  const rules = {
    overBestRule: rulesWithin(0),
    overOneQuery: rulesWithin(1),
    overEqualQueries: rulesWithin(2),
    overAnyQueries: rulesWithin(3),
  };
  return { overBestRule, overOneQuery, overEqualQueries, overAnyQueries, rules };
}

/** The agent of a trial, and what is best within each of its budgets, in the order of `RuleMargins`. */
function picked({ decisions, ranking }: TrialResult) {
  const system = decisions.find(({ name }) => name === agentName)!;
  const placed = (system: SystemDecisions) => {
    return { ...placedStops(stopColumns(system.decisions, ranking)), queriesOnce: system.queries === 'one' };
  };
  const agent = placed(system);
  const rules = decisions.filter((system) => !isLearnt(system.name) && system.queries !== 'oracle').map(placed);
  const { er, queries } = agent;
  const once = rules.filter(({ queriesOnce }) => queriesOnce);
  const best = paretoFront(once).findLast((rule) => rule.er <= er);
  const mixtures = [
    best === undefined ? null : [{ point: best, share: 1 }],
    bestMixture(once, { er, queries }),
    bestMixture(rules, { er, queries }),
    bestMixture(rules, { er, queries: Number.POSITIVE_INFINITY }),
  ];
  return { agent, mixtures };
}

/** Stops as a point of fronts and mixtures. */
export interface PlacedStops extends PricedPoint {
  readonly columns: DecisionColumns;
}

export function placedStops(columns: DecisionColumns): PlacedStops {
  const [macro, er, queries] = ['macroF1', 'er', 'queriesPerThread'].map(
    (name) => stopMetrics.find((metric) => metric.name === name)!.of(columns) ?? Number.NaN,
  );
  return { macroF1: macro, er, queries, columns };
}

/** The macro-F1 of a mixture on some of the threads. */
export function macroF1On(mixture: Mixture<PlacedStops>, items: Int32Array): number {
  return mixture.reduce((sum, { point, share }) => sum + share * macroF1({ ...point.columns, items }), 0);
}
