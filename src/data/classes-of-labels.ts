import { InputError } from '../errors.ts';
import { type Task, taskOfLabel, tasks } from './task.ts';
import type { Thread } from './thread.ts';

/** A label with more values is text or a number, not a class. */
export const mostClasses = 20;

/**
 * The classes of a label's values, as texts: numbers by size, false before true, texts by character code.
 * @param values each value of the threads once
 * @throws InputError for fewer than two or more than twenty
 */
export function classesOfLabels(
  values: ReadonlyMap<string | number | boolean, unknown>,
  { label, path }: { label: string; path: string },
): string[] {
  const classes = sortedClasses(values.keys());
  if (classes.length > mostClasses)
    throw new InputError(
      `the label ${label} has more than ${mostClasses} different values in ${path}, such as ${classes.slice(0, 3).join(', ')}; a task has 2 to ${mostClasses} classes`,
    );
  if (classes.length < 2)
    throw new InputError(
      `all threads of ${path} that have the label ${label} have the value ${JSON.stringify(classes[0])}; a task has at least two classes`,
    );
  return classes;
}

/** The values as texts, in an order that does not depend on that of the threads. */
export function sortedClasses(values: Iterable<string | number | boolean>): string[] {
  const classes = [...new Set(Array.from(values, String))];
  const areNumbers = classes.every((name) => name.trim() !== '' && Number.isFinite(Number(name)));
  return classes.sort((a, b) => (areNumbers ? Number(a) - Number(b) : a < b ? -1 : Number(a > b)));
}

type LabelValue = string | number | boolean;

/** The values of each label, up to one more than a task has classes. */
function labelValues(threads: Iterable<Pick<Thread, 'labels'>>): Map<string, Set<LabelValue>> {
  const valuesOf = new Map<string, Set<LabelValue>>();
  for (const { labels = {} } of threads)
    for (const [name, value] of Object.entries(labels)) {
      const values = valuesOf.get(name) ?? new Set();
      if (value !== null && values.size <= mostClasses) valuesOf.set(name, values.add(value));
    }
  return valuesOf;
}

/** Labels that make no task, with the reason: one value, or more than a task has classes. */
export function labelsWithoutTask(threads: Iterable<Pick<Thread, 'labels'>>): string[] {
  return [...labelValues(threads)].flatMap(([name, values]) => {
    const [first] = values;
    const label = `the label ${JSON.stringify(name)} has`;
    if (values.size === 1) return [`${label} one value only, ${JSON.stringify(first)}`];
    return values.size > mostClasses
      ? [`${label} more than ${mostClasses} values, and a task has 2 to ${mostClasses} classes`]
      : [];
  });
}

/** The built-in tasks, then those of the threads' own labels, by name, that have 2 to 20 classes. */
export function tasksOf(threads: Iterable<Pick<Thread, 'labels'>>): Task[] {
  const labelTasks = [...labelValues(threads)].map(([name, values]) => ({ name, labels: sortedClasses(values) }));
  return [
    ...Object.values(tasks),
    ...labelTasks
      .filter(({ labels: { length } }) => length >= 2 && length <= mostClasses)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(taskOfLabel),
  ];
}

/** The task of this name, or the one with the most labelled threads. @throws InputError if no task has this name */
export function taskIn(
  threads: readonly Pick<Thread, 'rumor' | 'veracity' | 'labels'>[],
  { name, path }: { name: string | undefined; path: string },
): Task {
  const allTasks = tasksOf(threads);
  if (name === undefined) {
    const counted = allTasks.map((task) => ({
      task,
      labelled: threads.filter((each) => task.goldLabel(each) !== null).length,
    }));
    return counted.toSorted((first, second) => second.labelled - first.labelled)[0].task;
  }
  // A label named like a built-in task may have other classes.
  const task = allTasks.findLast((candidate) => candidate.name === name);
  if (task !== undefined) return task;
  throw new InputError(
    `no thread of ${path} has a label called ${JSON.stringify(name)} with 2 to ${mostClasses} classes; there are ${allTasks.map((each) => each.name).join(', ')}`,
  );
}
