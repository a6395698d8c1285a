import { macroF1 } from '../../src/metrics/classification.ts';
import { metricIntervals } from '../../src/metrics/metric-intervals.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type ComparedPair, compareSystems, firstRunIn } from '../run/compare-systems.ts';
import { queryMetrics, readQueryResult } from './result.ts';

/**
 * Two systems by every metric; the return is left out where the runs have different delay costs. A system is named by its title,
 * which is the same in all seeds; mixtures of rules, which draw a rule for each thread, are none.
 */
export function compareQuerySystems(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  const [of, other] = compared.map(({ folder }) => readQueryResult(firstRunIn(folder)));
  const indexOf = (label: string | null) => (label === null ? -1 : of.labels.indexOf(label));
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
        columnsOf: (decisions) => ({
          decisions,
          gold: Int32Array.from(decisions, ({ gold }) => indexOf(gold)),
          predicted: Int32Array.from(decisions, ({ predicted }) => indexOf(predicted)),
        }),
        metrics: queryMetrics
          .filter(({ name }) => of.delayCost === other.delayCost || name !== 'meanReturn')
          .map(({ name, title, value }) => ({
            name,
            title,
            of: ({ decisions, gold, predicted, items }) =>
              value === null
                ? macroF1({ gold, predicted, classes: of.labels.length, items })
                : mean(Array.from(items, (item) => value(decisions[item], of))),
          })),
        seed,
      }),
    shown: ({ threadId, gold, predicted }) => ({ item: threadId, gold, answer: predicted ?? 'no answer' }),
  });
}
