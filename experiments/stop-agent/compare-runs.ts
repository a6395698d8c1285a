import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { Task } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';
import { bootstrapGroups } from '../../src/metrics/bootstrap.ts';
import {
  bySeed,
  type ComparedFolder,
  type MetricDifference,
  type Paired,
  pairDecisions,
  runsIn,
} from '../run/paired-decisions.ts';
import { agentName, type Decision } from './decisions.ts';
import { experimentSchema, taskOf } from './experiment.ts';
import { columnsOf, stopMetrics } from './metrics.ts';
import { systemsOfRun } from './result.ts';

export interface Comparison {
  /** Decisions paired, over all seeds. */
  readonly threads: number;
  readonly seeds: number;
  /**
   * First minus second of each resampled metric, mean over seeds, with 95 % interval and two-sided p-value: a paired
   * bootstrap over seeds, and over the threads of each.
   */
  readonly metrics: readonly MetricDifference[];
}

/**
 * Two systems on the threads that both decided, paired.
 * @throws InputError when they share no thread, or a folder holds no decisions of the system.
 */
export function compareSystems(first: ComparedFolder, second: ComparedFolder, options: { seed: number }): Comparison {
  const { pairs, labels } = pairedDecisions(first, second);
  const groups = bySeed(pairs).map(({ first: left, second: right }) => ({
    threads: left.length,
    left: columnsOf(left, labels),
    right: columnsOf(right, labels),
  }));
  const compared = stopMetrics.filter(({ isResampled }) => isResampled);
  const intervals = bootstrapGroups({
    groups: groups.map(({ threads }) => threads),
    seed: options.seed,
    statistics(group, items) {
      const { left, right } = groups[group];
      return compared.map(
        (metric) => (metric.of({ ...left, items }) ?? Number.NaN) - (metric.of({ ...right, items }) ?? Number.NaN),
      );
    },
  });
  return {
    threads: pairs.length,
    seeds: groups.length,
    metrics: compared.map(({ name, title }, index) => {
      const { estimate, ...interval } = intervals[index];
      return { name, title: title ?? name, difference: estimate, ...interval };
    }),
  };
}

/** @throws InputError as `compareSystems` does */
export function pairedDecisions(
  first: ComparedFolder,
  second: ComparedFolder,
): { pairs: Paired<Decision>[]; labels: readonly string[] } {
  const pairs = pairDecisions<Decision>([first, second], {
    system: agentName,
    read: (path) => systemsOfRun(RunDirectory.open(path)).flatMap(({ decisions }) => decisions),
    keyOf: ({ threadId }) => threadId,
    items: 'thread',
  });
  const [task, otherTask] = [first, second].map(({ folder }) => taskOfRuns(folder));
  if (task.name !== otherTask.name)
    throw new InputError(
      `${first.folder} decides ${task.name} and ${second.folder} decides ${otherTask.name}; compare runs of one task`,
    );
  return { pairs, labels: task.labels };
}

function taskOfRuns(folder: string): Task {
  const run = RunDirectory.open(join(folder, runsIn(folder)[0]));
  return taskOf(run.readConfig(experimentSchema));
}
