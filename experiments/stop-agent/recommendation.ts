import { groupBy } from '../../src/data/group-by.ts';
import { bootstrapGroups } from '../../src/metrics/bootstrap.ts';
import { haveSameItems } from '../../src/metrics/metric-intervals.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { valuesOf } from '../run/metric.ts';
import type { Costs } from './costs.ts';
import { cloningName, isLearnt, type SystemDecisions } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { type DecisionColumns, type ScoredStops, type StopMetric, stopColumns, stopMetrics } from './metrics.ts';

/*
 * Which system to deploy: the best on the development part, or where another is as good within one standard error, the simplest of
 * those. Rules come before agents, and fewer queries before more.
 */

/** The aim by which systems are ranked. */
export interface Aim extends ScoredStops {
  /** The user's; without them macro-F1 − delayCost × earliness − queryCost × queries is maximised, or with alerts latency-weighted F1 − queryCost × queries. */
  readonly costs: Costs | null;
  readonly price: { readonly delayCost: number; readonly queryCost: number };
}

export function aimOf(experiment: Experiment): Aim {
  const { labels, alerts } = taskOf(experiment);
  return { labels, alerts, costs: experiment.costs, price: experiment.agent.task };
}

/** A system with what it decided of the development part of each seed. */
export interface Candidate {
  readonly name: string;
  readonly seeds: readonly SystemDecisions[];
}

const resamples = 300;
/** A 95% interval of a normal variable is so many standard errors wide. */
const errorsInInterval = 2 * 1.96;

/** Whether a system can be recommended: not one that sees labels or knows the stream, nor the copy that only stands beside agents. */
export function isCandidate({ name, queries }: Pick<SystemDecisions, 'name' | 'queries'>): boolean {
  return queries !== 'oracle' && name !== cloningName;
}

/**
 * The system to deploy.
 * @param candidates at least one; all decided the same threads of the same seeds, in the same order
 * @returns with its worth as a mean over seeds, and the best system, where the recommended one is simpler and as good
 */
export function recommended<Of extends Candidate>(candidates: readonly Of[], aim: Aim) {
  const { metrics, of } = worth(aim);
  const worthOf = (columns: DecisionColumns) => of(valuesOf(metrics, columns));
  const scored = candidates.map((system) => {
    const columns = system.seeds.map(({ decisions }) => stopColumns(decisions, aim));
    const queries = mean(columns.map(({ queries }) => mean(queries)));
    return { system, columns, queries, worth: mean(columns.map(worthOf)), isAgent: isLearnt(system.name) };
  });
  const sameItems = haveSameItems(
    candidates[0].seeds.map(({ decisions }) => decisions.map(({ threadId }) => threadId)),
  );
  const [best] = scored.toSorted((a, b) => b.worth - a.worth);
  // Of systems that are equally simple the best is tried: a grid of rules is dense, and an error takes a bootstrap.
  const simplest = [...groupBy(scored, ({ isAgent, queries }) => `${isAgent} ${queries.toFixed(1)}`).values()]
    .map((systems) => systems.toSorted((a, b) => b.worth - a.worth)[0])
    .toSorted((a, b) => Number(a.isAgent) - Number(b.isAgent) || a.queries - b.queries)
    .find((system) => best.worth - system.worth <= standardError(best.columns, system.columns, { worthOf, sameItems }));
  const chosen = simplest ?? best;
  return { system: chosen.system, worth: chosen.worth, best: best.system };
}

/** The value of a system to the user by its scores, and the metrics that it takes. Unknown metrics count as zero. */
export function worth({ costs, price, alerts = [] }: Omit<Aim, 'labels'>): Worth {
  const needing = (names: readonly string[], of: Worth['of']): Worth => {
    return { metrics: stopMetrics.filter(({ name }) => names.includes(name)), of };
  };
  if (costs !== null)
    return needing(['expectedCost'], ({ expectedCost }) => -(expectedCost ?? Number.POSITIVE_INFINITY));
  if (alerts.length > 0)
    return needing(['latencyF1', 'queriesPerThread'], ({ latencyF1, queriesPerThread }) => {
      return (latencyF1 ?? 0) - price.queryCost * (queriesPerThread ?? 0);
    });
  return needing(['macroF1', 'er', 'queriesPerThread'], ({ macroF1, er, queriesPerThread }) => {
    return (macroF1 ?? 0) - price.delayCost * (er ?? 1) - price.queryCost * (queriesPerThread ?? 0);
  });
}

interface Worth {
  readonly metrics: readonly StopMetric[];
  of(values: Readonly<Record<string, number | null>>): number;
}

/** Of the difference of two systems on the same threads, over threads and seeds. */
function standardError(
  first: readonly DecisionColumns[],
  second: readonly DecisionColumns[],
  { worthOf, sameItems }: { worthOf: (columns: DecisionColumns) => number; sameItems: boolean },
): number {
  if (first === second) return 0;
  const [{ low, high }] = bootstrapGroups({
    groups: first.map(({ gold }) => gold.length),
    sameItems,
    seed: 1,
    resamples,
    statistics: (seed, items) => [worthOf({ ...first[seed], items }) - worthOf({ ...second[seed], items })],
  });
  return (high - low) / errorsInInterval;
}
