import { metricIntervals } from '../../src/metrics/metric-intervals.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type ComparedPair, compareSystems, firstRunIn } from '../run/compare-systems.ts';
import { type Experiment, experimentSchema, taskOf } from './experiment.ts';
import { columnsOf, resampledMetrics, stopMetrics } from './metrics.ts';
import { systemsOfRun } from './result.ts';

/** Two agents, or an agent and a rule, by every metric that is resampled. */
export function compareAgents(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  const experiment: Experiment = firstRunIn(compared[0].folder).readConfig(experimentSchema);
  const { labels } = taskOf(experiment);
  const { costs } = experiment;
  const name = (label: number) => labels[label] ?? 'not readable';
  return compareSystems(compared, {
    items: 'thread',
    labelsOf: (run) => taskOf(run.readConfig(experimentSchema)).labels,
    read: (run) => systemsOfRun(run).flatMap(({ decisions }) => decisions),
    keyOf: ({ threadId }) => threadId,
    placeOf: () => ({ title: 'At the stop', of: {} }),
    intervals: (seeds) =>
      metricIntervals({
        seeds,
        columnsOf: (decisions) => columnsOf(decisions, { labels, costs }),
        metrics: resampledMetrics(stopMetrics),
        seed,
      }),
    shown: ({ threadId, gold, predicted, postsUsed, posts }) => ({
      item: threadId,
      gold: name(gold),
      answer: `${name(predicted)}, post ${postsUsed} of ${posts}`,
    }),
  });
}
