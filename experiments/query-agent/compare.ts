import { metricIntervals } from '../../src/metrics/metric-intervals.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type ComparedPair, compareSystems, firstRunIn } from '../run/compare-systems.ts';
import { columnsOf, queryMetrics, readQueryResult } from './result.ts';

/**
 * Two systems by every metric; the return is left out where the runs have different delay costs. A system is named by its title,
 * which is the same in all seeds; mixtures of rules, which draw a rule for each thread, are none.
 */
export function compareQuerySystems(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  const [of, other] = compared.map(({ folder }) => readQueryResult(firstRunIn(folder)));
  return compareSystems(compared, {
    items: 'thread',
    labelsOf: (run) => readQueryResult(run).labels,
    read: (run) =>
      readQueryResult(run)
        .systems.filter(({ share }) => share === 1)
        .flatMap(({ title, decisions }) => decisions.map((decision) => ({ ...decision, system: title }))),
    keyOf: ({ threadId }) => threadId,
    placeOf: () => ({ title: 'At the stop', of: {} }),
    intervals: (seeds) =>
      metricIntervals({
        seeds,
        columnsOf: (decisions) => columnsOf(decisions, of),
        metrics: queryMetrics.filter(({ name }) => of.delayCost === other.delayCost || name !== 'meanReturn'),
        seed,
      }),
    shown: ({ threadId, gold, predicted }) => ({ item: threadId, gold, answer: predicted ?? 'no answer' }),
  });
}
