import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { Task } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';
import { type MetricInterval, metricIntervals } from '../../src/metrics/metric-intervals.ts';
import { bySeed, type ComparedFolder, type Paired, pairDecisions, runsIn } from '../run/paired-decisions.ts';
import { agentName, type Decision } from './decisions.ts';
import { experimentSchema, taskOf } from './experiment.ts';
import { columnsOf, resampledMetrics, stopMetrics } from './metrics.ts';
import { systemsOfRun } from './result.ts';

export interface Comparison {
  /** Decisions paired, over all seeds. */
  readonly threads: number;
  readonly seeds: number;
  /** First minus second of each resampled metric: see `metricIntervals`. */
  readonly metrics: readonly MetricInterval[];
  readonly pairs: readonly Paired<Decision>[];
  /** What decisions are indices into. */
  readonly labels: readonly string[];
}

/**
 * Two systems on the threads that both decided, paired.
 * @throws InputError when they share no thread, or a folder holds no decisions of the system.
 */
export function compareSystems(first: ComparedFolder, second: ComparedFolder, options: { seed: number }): Comparison {
  const { pairs, labels } = pairedDecisions(first, second);
  const seeds = bySeed(pairs);
  return {
    threads: pairs.length,
    seeds: seeds.length,
    metrics: metricIntervals({
      seeds,
      columnsOf: (decisions) => columnsOf(decisions, labels),
      metrics: resampledMetrics(stopMetrics),
      seed: options.seed,
    }),
    pairs,
    labels,
  };
}

function pairedDecisions(
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
