import { InputError } from '../errors.ts';
import { type Task, taskOfLabel, tasks } from './task.ts';
import type { Thread } from './thread.ts';

/** More are no classes, but texts or numbers. */
export const mostClasses = 20;

/**
 * The classes of the values of a label, as texts: numbers by size, false before true, texts by their characters' codes.
 * @param values those that threads have, each once
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

/** As texts, in an order that does not depend on the threads'. */
export function sortedClasses(values: Iterable<string | number | boolean>): string[] {
  const classes = [...new Set(Array.from(values, String))];
  const areNumbers = classes.every((own) => own.trim() !== '' && Number.isFinite(Number(own)));
  return classes.sort((a, b) => (areNumbers ? Number(a) - Number(b) : a < b ? -1 : Number(a > b)));
}

type LabelValue = string | number | boolean;

/** The different values of each label, up to one more than a task has classes. */
function labelValues(threads: Iterable<Pick<Thread, 'labels'>>): Map<string, Set<LabelValue>> {
  const valuesOf = new Map<string, Set<LabelValue>>();
  for (const { labels = {} } of threads)
    for (const [name, value] of Object.entries(labels)) {
      const values = valuesOf.get(name) ?? new Set();
      if (value !== null && values.size <= mostClasses) valuesOf.set(name, values.add(value));
    }
  return valuesOf;
}

/** Why labels of threads are no tasks: those with one value, or more than a task has classes. */
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

/** The tasks of threads: the known ones, then those of their own labels, by name, that have 2 to 20 classes. */
export function tasksOf(threads: Iterable<Pick<Thread, 'labels'>>): Task[] {
  const own = [...labelValues(threads)].map(([name, values]) => ({ name, labels: sortedClasses(values) }));
  return [
    ...Object.values(tasks),
    ...own
      .filter(({ labels: { length } }) => length >= 2 && length <= mostClasses)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(taskOfLabel),
  ];
}

/**
 * The task of these threads by its name, or unless one is given the first that most threads have a label of.
 * @throws InputError where they have none of that name
 */
export function taskIn(
  threads: readonly Pick<Thread, 'rumor' | 'veracity' | 'labels'>[],
  { name, path }: { name: string | undefined; path: string },
): Task {
  const known = tasksOf(threads);
  if (name === undefined) {
    const counted = known.map((own) => ({
      own,
      labelled: threads.filter((each) => own.goldLabel(each) !== null).length,
    }));
    return counted.toSorted((first, second) => second.labelled - first.labelled)[0].own;
  }
  // A label of one's own that is called as a known task has other classes than it.
  const task = known.findLast((own) => own.name === name);
  if (task !== undefined) return task;
  throw new InputError(
    `no thread of ${path} has a label called ${JSON.stringify(name)} with 2 to ${mostClasses} classes; there are ${known.map((own) => own.name).join(', ')}`,
  );
}
