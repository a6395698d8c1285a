import { InputError } from '../errors.ts';
import type { Thread } from './thread.ts';

/** A detector's decision about a thread. A class index is always a position in `labels`. */
export interface Task {
  readonly name: string;
  readonly labels: readonly string[];
  /** Labels that are final if predicted early; a policy reads on with others. By default all labels are. */
  readonly alerts?: readonly string[];
  /** The gold label of a thread as an index into `labels`; null without one. */
  goldLabel(thread: Pick<Thread, 'rumor' | 'veracity' | 'labels'>): number | null;
}

/**
 * The gold label of a thread by a task from outside.
 * @throws InputError unless it is null or an index into the task's labels, such as for the −1 of `indexOf`
 */
export function checkedGoldLabel(task: Task, thread: Thread): number | null {
  const label: number | null | undefined = task.goldLabel(thread);
  if (label === null || task.labels[label] !== undefined) return label;
  throw new InputError(
    `the task ${task.name} gives thread ${JSON.stringify(thread.id)} the label ${label}; it must be an index into ` +
      `${task.labels.join(', ')} (0 to ${task.labels.length - 1}), or null where the thread has no label`,
  );
}

/** The name of a thread's gold label; null without one. */
export function goldName(task: Task, thread: Parameters<Task['goldLabel']>[0]): string | null {
  return task.labels[task.goldLabel(thread) ?? -1] ?? null;
}

/** Rumor or not: the task of early rumor detection. */
export const rumorTask: Task = {
  name: 'rumor',
  labels: ['non-rumor', 'rumor'],
  goldLabel: (thread) => (thread.rumor === null ? null : Number(thread.rumor)),
};

/** The four classes of Twitter15 and Twitter16. */
export const veracityTask: Task = veracityOf('veracity', ['non-rumor', 'true', 'false', 'unverified']);

/** Veracities of rumours: the classes of RumourEval, whose threads are all rumours. Other threads have no label. */
export const rumorVeracityTask: Task = veracityOf('rumor-veracity', ['true', 'false', 'unverified']);

function veracityOf(name: string, labels: readonly string[]): Task {
  return {
    name,
    labels,
    // Without `this`, so that the function can be passed on alone.
    goldLabel({ veracity }) {
      const label = veracity === null ? -1 : labels.indexOf(veracity);
      return label < 0 ? null : label;
    },
  };
}

/** The built-in tasks, by name. */
export const tasks: Readonly<Record<string, Task>> = {
  rumor: rumorTask,
  veracity: veracityTask,
  'rumor-veracity': rumorVeracityTask,
};

/** The identity of a task in keys: the name of a built-in one. */
export function identityOf(task: Task): string | Pick<Task, 'name' | 'labels'> {
  const { name, labels } = task;
  return isKnown(task) ? name : { name, labels };
}

function isKnown({ name, labels }: Pick<Task, 'name' | 'labels'>): boolean {
  return Object.hasOwn(tasks, name) && tasks[name].labels.join('\n') === labels.join('\n');
}

/**
 * The task of a label: a built-in one with this name and these classes, or else that of the field `name` of `labels`.
 * @throws InputError from `goldLabel` for a value that is not one of the classes
 */
export function taskOfLabel({ name, labels }: Pick<Task, 'name' | 'labels'>): Task {
  if (isKnown({ name, labels })) return tasks[name];
  return {
    name,
    labels,
    goldLabel({ labels: threadLabels }) {
      const value = threadLabels !== undefined && Object.hasOwn(threadLabels, name) ? threadLabels[name] : null;
      if (value === null) return null;
      const label = labels.indexOf(String(value));
      if (label >= 0) return label;
      throw new InputError(
        `a thread has the label ${JSON.stringify(value)} for ${name}, and the task knows ${labels.join(', ')}; add it to the classes, or change the data (\`earshot data import … --label-map\`)`,
      );
    },
  };
}
