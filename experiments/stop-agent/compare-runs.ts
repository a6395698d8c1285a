import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { Task } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';
import { comparePaired } from '../../src/metrics/bootstrap.ts';
import { type ComparedSystem, pairDecisions, runsIn } from '../run/decisions-file.ts';
import { agentName, type Decision, decisionSchema } from './decisions.ts';
import { experimentSchema, taskOf } from './experiment.ts';
import { columnsOf, stopMetrics } from './metrics.ts';

export interface Comparison {
  readonly threads: number;
  /** First minus second of each resampled metric, with 95 % interval and two-sided p-value (paired bootstrap over threads). */
  readonly metrics: readonly (ReturnType<typeof comparePaired> & { readonly name: string; readonly title: string })[];
}

/**
 * Two systems on the threads that both decided, paired.
 * @throws InputError when they share no thread, or a folder holds no decisions of the system.
 */
export function compareSystems(
  first: Partial<ComparedSystem> & { folder: string },
  second: Partial<ComparedSystem> & { folder: string },
  options: { seed: number },
): Comparison {
  const compared = { schema: decisionSchema, keyOf: ({ threadId }: Decision) => threadId, items: 'thread' };
  const paired = pairDecisions(
    [
      { system: agentName, ...first },
      { system: agentName, ...second },
    ],
    compared,
  );
  const [task, otherTask] = [first, second].map(({ folder }) => taskOfRuns(folder));
  if (task.name !== otherTask.name)
    throw new InputError(
      `${first.folder} decides ${task.name} and ${second.folder} decides ${otherTask.name}; compare runs of one task`,
    );
  const { labels } = task;
  // Resampled metrics do not depend on how often the detector is called.
  const left = columnsOf(paired.first, { calls: 'one', labels });
  const right = columnsOf(paired.second, { calls: 'one', labels });
  return {
    threads: paired.first.length,
    metrics: stopMetrics
      .filter(({ isResampled }) => isResampled)
      .map((metric) => ({
        name: metric.name,
        title: metric.title ?? metric.name,
        ...comparePaired({
          items: paired.first.length,
          seed: options.seed,
          first: (items) => metric.of({ ...left, items }) ?? Number.NaN,
          second: (items) => metric.of({ ...right, items }) ?? Number.NaN,
        }),
      })),
  };
}

function taskOfRuns(folder: string): Task {
  const run = RunDirectory.open(join(folder, runsIn(folder)[0]));
  return taskOf(run.readConfig(experimentSchema));
}
