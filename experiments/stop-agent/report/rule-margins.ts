import { bootstrapGroups, fewestItems } from '../../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../../src/metrics/classification.ts';
import { bestMixture, meanOf, type PricedPoint, paretoFront } from '../../../src/metrics/pareto.ts';
import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import type { Estimate } from '../../report/shown-numbers.ts';
import { agentName, isLearnt, type SystemDecisions } from '../decisions.ts';
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
}

const resamples = 1000;

/**
 * The best rules are picked by the scores that they are compared on, which favours them. The intervals keep what was picked: a
 * bootstrap that picked again would add the luck of every resample to that.
 */
export function compareToRules(trials: readonly TrialResult[]): RuleMargins {
  const seeds = trials.map(picked);
  const leads = ({ agent, mixtures }: (typeof seeds)[number], items: Int32Array) => {
    const { macroF1: own } = agent(items);
    return mixtures.map((mixture) =>
      mixture === null
        ? Number.NaN
        : own - mixture.reduce((sum, { point, share }) => sum + share * point.at(items).macroF1, 0),
    );
  };
  const intervals = bootstrapGroups({
    groups: seeds.map(({ threads }) => threads),
    seed: 1,
    resamples,
    statistics: (seed, items) => leads(seeds[seed], items),
    scoreRange: () => [-1, 1],
  });
  const all = seeds.map(({ agent, threads, mixtures }) => {
    const { macroF1: own } = agent(everyItem(threads));
    return mixtures.map((mixture) => (mixture === null ? null : own - meanOf(mixture, 'macroF1')));
  });
  const isEnough = seeds.every(({ threads }) => threads >= fewestItems);
  const [overBestRule, overOneQuery, overEqualQueries, overAnyQueries] = intervals.map((interval, index) => {
    const known = all.flatMap((own) => own[index] ?? []);
    return known.length === 0 ? null : { ...meanAndDeviation(known), interval: isEnough ? interval : null };
  });
  return { overBestRule, overOneQuery, overEqualQueries, overAnyQueries };
}

/** The agent of a trial, and what is best within each of its budgets, in the order of `RuleMargins`. */
function picked({ decisions, systems }: TrialResult) {
  const classes = Object.keys(systems[0].f1ByLabel).length;
  const system = decisions.find(({ name }) => name === agentName);
  if (system === undefined) throw new Error('a trial has no agent');
  const threads = system.decisions.length;
  const agent = operatingPointOf(system, classes);
  const { er, queries } = agent(everyItem(threads));
  const rules = decisions
    .filter((own) => !isLearnt(own.name) && own.queries !== 'oracle')
    .map((own) => {
      const at = operatingPointOf(own, classes);
      return { ...at(everyItem(threads)), at, queriesOnce: own.queries === 'one' };
    });
  const once = rules.filter(({ queriesOnce }) => queriesOnce);
  const best = paretoFront(once).findLast((rule) => rule.er <= er);
  const mixtures = [
    best === undefined ? null : [{ point: best, share: 1 }],
    bestMixture(once, { er, queries }),
    bestMixture(rules, { er, queries }),
    bestMixture(rules, { er, queries: Number.POSITIVE_INFINITY }),
  ];
  return { threads, agent, mixtures };
}

export function everyItem(threads: number): Int32Array {
  return Int32Array.from({ length: threads }, (_, item) => item);
}

/** A function that places a system by its decisions on some of the threads. */
export function operatingPointOf(
  { decisions }: Pick<SystemDecisions, 'decisions'>,
  classes: number,
): (items: Int32Array) => PricedPoint {
  const gold = Int8Array.from(decisions, (own) => own.gold);
  const predicted = Int8Array.from(decisions, (own) => own.predicted);
  const shares = Float64Array.from(decisions, ({ postsUsed, posts }) => postsUsed / posts);
  const queries = Float64Array.from(decisions, (own) => own.queries);
  const mean = (values: Float64Array, items: Int32Array) =>
    items.reduce((sum, item) => sum + values[item], 0) / items.length;
  return (items) => ({
    macroF1: macroF1({ gold, predicted, classes, items }),
    er: mean(shares, items),
    queries: mean(queries, items),
  });
}
