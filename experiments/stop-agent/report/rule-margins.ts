import { bootstrapGroups, fewestItems } from '../../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../../src/metrics/classification.ts';
import { haveSameItems } from '../../../src/metrics/metric-intervals.ts';
import { bestMixture, type Mixture, meanOf, type PricedPoint, paretoFront } from '../../../src/metrics/pareto.ts';
import type { Estimate } from '../../report/shown-numbers.ts';
import { overSeeds } from '../../report/shown-numbers.ts';
import { agentName, isLearnt, type SystemDecisions } from '../decisions.ts';
import { type DecisionColumns, metricNamed, stopColumns } from '../metrics.ts';
import type { TrialResult } from '../result.ts';

/** Which rules an agent is compared with: the best rule or the best mixture of rules that is as early, within a number of queries. */
export const ruleBudgets = [
  ['overBestRule', 'best rule of one query'],
  ['overOneQuery', 'rules of one query, mixed'],
  ['overEqualQueries', 'rules with the same query budget, mixed'],
  ['overAnyQueries', 'rules of any number of queries, mixed'],
] as const;
type RuleBudget = (typeof ruleBudgets)[number][0];

/**
 * How far an agent's macro-F1 is above that of rules: mean over seeds, with a 95% interval by a bootstrap over seeds and the threads of
 * each, unless these are too few.
 */
interface RuleMargin extends Estimate {
  /** The scores of the rules: means over the seeds that have some. */
  readonly rules: Readonly<Record<string, Estimate | null>>;
  readonly seeds: number;
}

/** Null where no rule is as early and queries as seldom. */
export type RuleMargins = Readonly<Record<RuleBudget, RuleMargin | null>>;

const resamples = 1000;

/**
 * The best rules are picked by the scores that they are compared on, which favours them. The intervals keep what was picked: a
 * bootstrap that picked again would add the luck of every resample to that.
 */
export function compareToRules(trials: readonly TrialResult[]): RuleMargins {
  const seeds = trials.map(picked);
  const intervals = bootstrapGroups({
    groups: seeds.map(({ agent }) => agent.columns.items.length),
    sameItems: haveSameItems(trials.map(({ decisions: [{ decisions }] }) => decisions.map(({ threadId }) => threadId))),
    seed: 1,
    resamples,
    statistics(seed, items) {
      const { agent, mixtures } = seeds[seed];
      const score = macroF1({ ...agent.columns, items });
      return mixtures.map((mixture) => (mixture === null ? Number.NaN : score - macroF1On(mixture, items)));
    },
    scoreRange: () => [-1, 1],
  });
  const isEnough = seeds.every(({ agent }) => agent.columns.items.length >= fewestItems);
  const marginOver = (place: number): RuleMargin | null => {
    const compared = seeds.flatMap(({ agent, mixtures: { [place]: mixture } }) =>
      mixture === null ? [] : [{ agent, mixture }],
    );
    const lead = overSeeds(compared.map(({ agent, mixture }) => agent.macroF1 - meanOf(mixture, 'macroF1')));
    const over = (aim: keyof PricedPoint) => overSeeds(compared.map(({ mixture }) => meanOf(mixture, aim)));
    const rules = { macroF1: over('macroF1'), er: over('er'), queriesPerThread: over('queries') };
    return lead && { ...lead, interval: isEnough ? intervals[place] : null, rules, seeds: compared.length };
  };
  return {
    overBestRule: marginOver(0),
    overOneQuery: marginOver(1),
    overEqualQueries: marginOver(2),
    overAnyQueries: marginOver(3),
  };
}

/** The agent of a trial, and what is best within each of its budgets, in their order. */
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
    (name) => metricNamed(name).of(columns) ?? Number.NaN,
  );
  return { macroF1: macro, er, queries, columns };
}

/** The macro-F1 of a mixture on some of the threads. */
export function macroF1On(mixture: Mixture<PlacedStops>, items: Int32Array): number {
  return mixture.reduce((sum, { point, share }) => sum + share * macroF1({ ...point.columns, items }), 0);
}
