import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { macroF1 } from '../../src/metrics/classification.ts';
import { type EvaluationSplit, readDecisions } from '../run/decisions-file.ts';
import { resultFile } from '../run/result-file.ts';
import { queryExperimentSchema } from './experiment.ts';
import type { QueryOutcome } from './outcomes.ts';

const count = z.int().min(0);

/** The agent, or a rule beside it. */
const systemSchema = z.strictObject({
  name: z.string().describe('in decisions.jsonl'),
  title: z.string().describe('the same in all seeds, while the rule may differ'),
  share: z
    .number()
    .describe('below 1 where a rule is one of several with the same title, drawn for each thread by chance'),
});
export type QuerySystem = z.output<typeof systemSchema>;

/** `result.json`: what the decisions of a run do not tell. */
export const queryResult = resultFile(1, {
  seed: z.int(),
  task: z.string(),
  labels: z.array(z.string()),
  detectors: z.array(z.string()),
  chosen: z.int().describe('number of the settings that were chosen, from 1'),
  returns: z.array(z.number()).describe('mean return of each of the settings on the development part'),
  part: z.enum(['test', 'development']).describe('decided'),
  systems: z.array(systemSchema).describe('the agent first'),
  threads: z.record(z.string(), count).describe('threads of each part'),
  asked: count,
  cached: count,
});
export type StoredQueryResult = ReturnType<typeof queryResult.read>;

const decisionSchema = z.strictObject({
  system: z.string(),
  threadId: z.string(),
  gold: z.string(),
  predicted: z.string().nullable().describe('null where the answer could not be read'),
  postsUsed: z.int(),
  posts: z.int(),
  cost: z.number().describe('of what it asked, in units of the return'),
  asks: z.record(z.string(), count).describe('of each detector'),
  detector: z.string().describe('whose judgement it is'),
});
export type QueryDecision = z.output<typeof decisionSchema>;

/** A line of `decisions.jsonl`. */
export function decisionOf(
  { gold, predicted, asks, detector, threadId, postsUsed, posts, cost }: QueryOutcome,
  of: { name: string; labels: readonly string[]; detectors: readonly string[] },
): QueryDecision {
  return {
    system: of.name,
    threadId,
    gold: of.labels[gold],
    predicted: of.labels[predicted] ?? null,
    postsUsed,
    posts,
    cost,
    asks: Object.fromEntries(of.detectors.map((name, place) => [name, asks[place]])),
    detector: of.detectors[detector],
  };
}

/** What a system decided of each thread. */
export interface SystemDecisions extends QuerySystem {
  readonly decisions: readonly QueryDecision[];
}

/** What a finished run came to. */
export interface QueryResult extends Omit<StoredQueryResult, 'systems'> {
  readonly delayCost: number;
  readonly systems: readonly SystemDecisions[];
}

/** @throws InputError when another version of Earshot finished the run, or it has no decisions on that part */
export function readQueryResult(run: RunDirectory, part?: EvaluationSplit): QueryResult {
  const { systems, ...stored } = queryResult.read(run);
  const decisions = readDecisions(run.path, decisionSchema, part ?? stored.part);
  const { delayCost } = run.readConfig(queryExperimentSchema);
  const own = systems.map((system) => ({
    ...system,
    decisions: decisions.filter((one) => one.system === system.name),
  }));
  return { ...stored, delayCost, systems: own.filter((system) => system.decisions.length > 0) };
}

/** What metrics are computed of: decisions, labels as indices, and which decisions count, repetitions counting again. */
interface QueryColumns {
  readonly decisions: readonly QueryDecision[];
  readonly gold: Int32Array;
  /** −1 where the answer could not be read. */
  readonly predicted: Int32Array;
  readonly run: Pick<QueryResult, 'labels' | 'delayCost'>;
}

/** One number that decisions come to. */
export interface QueryMetric {
  readonly name: string;
  readonly title: string;
  readonly decimals: number;
  readonly range?: readonly [number, number];
  of(columns: QueryColumns & { readonly items: Int32Array }): number;
}

export function columnsOf(decisions: readonly QueryDecision[], run: QueryColumns['run']): QueryColumns {
  const indices = (of: (decision: QueryDecision) => string | null) =>
    Int32Array.from(decisions, (own) => run.labels.indexOf(of(own) ?? ''));
  return { decisions, run, gold: indices(({ gold }) => gold), predicted: indices(({ predicted }) => predicted) };
}

function meanOf(value: (decision: QueryDecision, run: QueryColumns['run']) => number): QueryMetric['of'] {
  return ({ decisions, run, items }) =>
    items.reduce((sum, item) => sum + value(decisions[item], run), 0) / items.length;
}

const meanReturn = meanOf(
  ({ gold, predicted, postsUsed, posts, cost }, { delayCost }) =>
    Number(gold === predicted) - (delayCost * postsUsed) / posts - cost,
);
const share = { decimals: 3, range: [0, 1] } as const;
const f1: QueryMetric['of'] = ({ run, ...columns }) => macroF1({ ...columns, classes: run.labels.length });

export const queryMetrics: readonly QueryMetric[] = [
  { name: 'meanReturn', title: 'return', decimals: 3, of: meanReturn },
  { name: 'macroF1', title: 'macro-F1', ...share, of: f1 },
  { name: 'er', title: 'ER', ...share, of: meanOf(({ postsUsed, posts }) => postsUsed / posts) },
  { name: 'cost', title: 'cost', decimals: 4, of: meanOf(({ cost }) => cost) },
];

/** The metrics of a run: those of all, and how often it asks each detector a thread. */
export function metricsOf({ detectors }: QueryResult): QueryMetric[] {
  const asks = detectors.map((detector) => ({
    name: `asks of ${detector}`,
    title: `asks ${detector}`,
    decimals: 2,
    of: meanOf((decision) => decision.asks[detector]),
  }));
  return [...queryMetrics, ...asks];
}

/**
 * What the systems of a run come to, by title, the agent first; those with the same title by their shares.
 * @returns [titles][metrics] for decisions by index, repetitions counting again
 */
export function scorerOf(result: QueryResult): { titles: string[]; score: (items: Int32Array) => number[][] } {
  const metrics = metricsOf(result);
  const systems = result.systems.map((own) => ({ ...own, columns: columnsOf(own.decisions, result) }));
  const titles = [...new Set(systems.map(({ title }) => title))];
  return {
    titles,
    score: (items) =>
      titles.map((title) => {
        const own = systems.filter((system) => system.title === title);
        return metrics.map((metric) =>
          own.reduce((sum, { share, columns }) => sum + share * metric.of({ ...columns, items }), 0),
        );
      }),
  };
}

/** Every metric of every system of a run, by its title, the agent first. */
export function scoresOfRun(result: QueryResult) {
  const { titles, score } = scorerOf(result);
  const scores = score(Int32Array.from(result.systems[0].decisions.keys()));
  return titles.map((title, place) => ({
    title,
    values: Object.fromEntries(metricsOf(result).map(({ name }, metric) => [name, scores[place][metric]])),
  }));
}

/** The same as `--json` prints it. */
export function queryJson(run: RunDirectory): unknown {
  const result = readQueryResult(run);
  const { systems, ...stored } = result;
  return { ...stored, rules: systems.map(({ decisions: _, ...system }) => system), systems: scoresOfRun(result) };
}

export function scoreQueryRun(path: string, part: EvaluationSplit) {
  return scoresOfRun(readQueryResult(RunDirectory.open(path), part));
}
