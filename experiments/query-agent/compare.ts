import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { macroF1 } from '../../src/metrics/classification.ts';
import { type MetricInterval, metricIntervals } from '../../src/metrics/metric-intervals.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import {
  bySeed,
  type ComparedSystem,
  type Paired,
  pairDecisions,
  refuseOtherLabels,
  runsIn,
} from '../run/paired-decisions.ts';
import { type QueryDecision, queryMetrics, readQueryResult } from './result.ts';

export interface QueryComparison {
  /** Decisions paired, over all seeds. */
  readonly threads: number;
  readonly seeds: number;
  /** First minus second, mean over seeds. The return is left out where the runs have different delay costs. */
  readonly metrics: readonly MetricInterval[];
  readonly pairs: readonly Paired<QueryDecision>[];
}

/**
 * Two systems on the threads that both decided. A system is named by its title, which is the same in all seeds; mixtures of rules,
 * which draw a rule for each thread, are none.
 * @throws InputError where they share no thread, or decide other labels
 */
export function compareQuerySystems(
  first: ComparedSystem,
  second: ComparedSystem,
  options: { seed: number },
): QueryComparison {
  const resultOf = (folder: string) => resultIn(join(folder, runsIn(folder)[0]));
  refuseOtherLabels([first, second], (folder) => resultOf(folder).labels);
  const [of, other] = [first, second].map(({ folder }) => resultOf(folder));
  const pairs = pairDecisions<QueryDecision>([first, second], {
    system: first.system,
    read: (path) =>
      resultIn(path)
        .systems.filter(({ share }) => share === 1)
        .flatMap(({ title, decisions }) => decisions.map((decision) => ({ ...decision, system: title }))),
    keyOf: ({ threadId }) => threadId,
    items: 'thread',
  });
  const isReturnShared = of.delayCost === other.delayCost;
  const seeds = bySeed(pairs);
  return {
    threads: pairs.length,
    seeds: seeds.length,
    metrics: metricIntervals({
      seeds,
      columnsOf: (decisions) => ({
        decisions,
        gold: Int32Array.from(decisions, ({ gold }) => of.labels.indexOf(gold)),
        predicted: Int32Array.from(decisions, ({ predicted }) =>
          predicted === null ? -1 : of.labels.indexOf(predicted),
        ),
      }),
      metrics: queryMetrics
        .filter(({ name }) => isReturnShared || name !== 'meanReturn')
        .map(({ name, title, value }) => ({
          name,
          title,
          of: ({ decisions, gold, predicted, items }) =>
            value === null
              ? macroF1({ gold, predicted, classes: of.labels.length, items })
              : mean(Array.from(items, (item) => value(decisions[item], of))),
        })),
      seed: options.seed,
    }),
    pairs,
  };
}

function resultIn(path: string) {
  return readQueryResult(RunDirectory.open(path));
}
