import { groupBy } from '../../src/data/group-by.ts';
import { bootstrapGroups } from '../../src/metrics/bootstrap.ts';
import { type SelectorDecision, type SelectorTask, taskClasses, threadOf } from './decisions.ts';
import { type SelectorMetric, selectorMetrics } from './metrics.ts';

/** What one seed decided on one test set and task; a second system on the same items in the same order, to be subtracted. */
export interface SeedDecisions {
  readonly first: readonly SelectorDecision[];
  readonly second?: readonly SelectorDecision[];
}

export interface MetricInterval {
  readonly name: string;
  readonly title: string;
  /** Mean over the seeds: of the metric, or of first minus second. */
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
  /** Two-sided, of 0. */
  readonly pValue: number;
}

/**
 * Metrics with 95 % intervals over seeds and threads: a bootstrap that draws seeds, then the threads of each, whole with their
 * replies, for replies to one claim are not independent. Where two systems are compared, both get the same draws.
 */
export function metricIntervals(options: {
  task: SelectorTask;
  seeds: readonly SeedDecisions[];
  /** Of the bootstrap. */
  seed: number;
  resamples?: number;
  metrics?: readonly SelectorMetric[];
}): MetricInterval[] {
  const { task, seeds, seed, resamples = 2000, metrics = selectorMetrics } = options;
  const groups = seeds.map(({ first, second }) => {
    const classes = taskClasses[task].length;
    const gold = first.map((decision) => decision.gold);
    const columns = (decisions: readonly SelectorDecision[]) => ({
      gold,
      predicted: decisions.map(({ predicted }) => predicted),
      classes,
    });
    return {
      threads: [...groupBy(first.keys(), (item) => threadOf(first[item])).values()],
      left: columns(first),
      right: second === undefined ? null : columns(second),
    };
  });
  const intervals = bootstrapGroups({
    groups: groups.map(({ threads }) => threads.length),
    seed,
    resamples,
    statistics(group, drawn) {
      const { threads, left, right } = groups[group];
      const items = itemsOf(drawn, threads);
      return metrics.map((metric) => metric.of({ ...left, items }) - (right ? metric.of({ ...right, items }) : 0));
    },
  });
  return metrics.map(({ name, title }, index) => ({ name, title, ...intervals[index] }));
}

/** The items of the threads drawn, one thread after the other. */
function itemsOf(drawn: Int32Array, threads: readonly (readonly number[])[]): Int32Array {
  let count = 0;
  for (let place = 0; place < drawn.length; place++) count += threads[drawn[place]].length;
  const items = new Int32Array(count);
  let next = 0;
  for (let place = 0; place < drawn.length; place++) {
    const own = threads[drawn[place]];
    for (let index = 0; index < own.length; index++) items[next++] = own[index];
  }
  return items;
}
