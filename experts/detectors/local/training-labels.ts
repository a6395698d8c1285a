import { checkedGoldLabel, type Task } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { likeliest } from '../../../src/likeliest.ts';

/** The training target of a prefix: a class, or a probability of each class. Null leaves the prefix out. */
export type Target = number | readonly number[] | null;

/** The training target of the first `length` posts of a thread. */
export type TargetOf = (thread: Thread, length: number) => Target;

/** Threads with their class: the gold label, or the target of the whole thread. */
export function trainingThreads(settings: { threads: readonly Thread[]; task: Task; targetOf?: TargetOf }): {
  threads: Thread[];
  labels: number[];
} {
  const { task } = settings;
  const labelled = settings.threads.flatMap((thread) => {
    const target = settings.targetOf ? settings.targetOf(thread, thread.posts.length) : checkedGoldLabel(task, thread);
    const label = typeof target === 'object' && target !== null ? likeliest(target) : target;
    return label === null ? [] : [{ thread, label }];
  });
  const labels = labelled.map(({ label }) => label);
  assertEveryLabel({ task, labels, threads: settings.threads.length });
  return { threads: labelled.map(({ thread }) => thread), labels };
}

/** Threads per label that a cross-validation needs: each fold must leave two. */
export const fewestInFolds = 3;

/**
 * Checks that a local detector can be trained on threads of these labels.
 * @param options.threads number of threads, labelled or not
 * @param options.fewest threads that every label of the task needs
 * @throws InputError if a label has fewer
 */
export function assertEveryLabel({
  task,
  labels,
  threads,
  fewest = 2,
}: {
  task: Task;
  labels: readonly number[];
  threads: number;
  fewest?: number;
}): void {
  const counts = countByLabel({ task, labels });
  if (Object.values(counts).every((count) => count >= fewest)) return;
  const have = Object.entries(counts).map(([label, count]) => `${label} ${count}`);
  throw new InputError(
    `the local detector needs at least ${fewest} training threads of every label of the task "${task.name}"; of ${threads} threads these have one: ${have.join(', ')}. Give it more labelled threads, or choose a task whose labels these threads have`,
  );
}

export function countByLabel(options: { task: Task; labels: readonly number[] }): Record<string, number> {
  return Object.fromEntries(
    options.task.labels.map((name, label) => [name, options.labels.filter((value) => value === label).length]),
  );
}
