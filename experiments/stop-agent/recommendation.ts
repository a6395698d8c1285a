import { groupBy } from '../../src/data/group-by.ts';
import { bootstrapGroups } from '../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../src/metrics/classification.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import type { Costs } from './costs.ts';
import { cloningName, isLearnt, type SystemDecisions } from './decisions.ts';
import { type DecisionColumns, stopColumns, stopMetrics } from './metrics.ts';

/*
 * Which system to deploy: the best on the development part, or where another is as good within one standard error, the simplest of
 * those. Rules come before agents, and fewer queries before more.
 */

/** What systems are chosen by. */
export interface Aim {
  readonly labels: readonly string[];
  readonly alerts?: readonly string[] | undefined;
  /** The user's; without them macro-F1 − delayCost × earliness − queryCost × queries is maximised, or with alerts latency-weighted F1 − queryCost × queries. */
  readonly costs: Costs | null;
  readonly price: { readonly delayCost: number; readonly queryCost: number };
}

/** A system with what it decided of the development part of each seed. */
export interface Candidate {
  readonly name: string;
  readonly seeds: readonly SystemDecisions[];
}

export interface Recommendation<Of extends Candidate = Candidate> {
  readonly system: Of;
  /** Higher is better: minus the expected cost, or macro-F1 less the price of posts and queries; mean over seeds. */
  readonly worth: number;
  /** The best system, where the recommended one is simpler and as good. */
  readonly best: Of;
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
 */
export function recommended<Of extends Candidate>(candidates: readonly Of[], aim: Aim): Recommendation<Of> {
  const worthOf = worth(aim);
  const scored = candidates.map((system) => {
    const columns = system.seeds.map(({ decisions }) => stopColumns(decisions, aim));
    const queries = mean(columns.map(({ queries }) => mean(queries)));
    const worth = mean(columns.map((own) => worthOf(own)));
    return { system, columns, queries, worth, isAgent: isLearnt(system.name) };
  });
  const [best] = scored.toSorted((a, b) => b.worth - a.worth);
  // Of systems that are equally simple the best is tried: a grid of rules is dense, and an error takes a bootstrap.
  const simplest = [...groupBy(scored, ({ isAgent, queries }) => `${isAgent} ${queries.toFixed(1)}`).values()]
    .map((own) => own.toSorted((a, b) => b.worth - a.worth)[0])
    .toSorted((a, b) => Number(a.isAgent) - Number(b.isAgent) || a.queries - b.queries)
    .find((own) => best.worth - own.worth <= standardError(best.columns, own.columns, worthOf));
  const chosen = simplest ?? best;
  return { system: chosen.system, worth: chosen.worth, best: best.system };
}

/** What decisions are worth to the user. Decisions whose cost is not known are worth nothing. */
export function worth({ costs, price, alerts = [] }: Omit<Aim, 'labels'>): (columns: DecisionColumns) => number {
  const metric = (name: string) => stopMetrics.find((own) => own.name === name)!;
  const [cost, earliness, queries, latencyF1] = ['expectedCost', 'er', 'queriesPerThread', 'latencyF1'].map(metric);
  if (costs !== null) return (columns) => -(cost.of(columns) ?? Number.POSITIVE_INFINITY);
  if (alerts.length > 0)
    return (columns) => (latencyF1.of(columns) ?? 0) - price.queryCost * (queries.of(columns) ?? 0);
  return (columns) =>
    macroF1(columns) - price.delayCost * (earliness.of(columns) ?? 1) - price.queryCost * (queries.of(columns) ?? 0);
}

/** Of the difference of two systems on the same threads, over threads and seeds. */
function standardError(
  first: readonly DecisionColumns[],
  second: readonly DecisionColumns[],
  worthOf: ReturnType<typeof worth>,
): number {
  if (first === second) return 0;
  const [{ low, high }] = bootstrapGroups({
    groups: first.map(({ gold }) => gold.length),
    seed: 1,
    resamples,
    statistics: (seed, items) => [worthOf({ ...first[seed], items }) - worthOf({ ...second[seed], items })],
  });
  return (high - low) / errorsInInterval;
}
