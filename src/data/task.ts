import { InputError } from '../errors.ts';
import type { Thread } from './thread.ts';

/** What a detector decides about a thread. A class index is always a position in `labels`. */
export interface Task {
  readonly name: string;
  readonly labels: readonly string[];
  /** Labels that are final when they are said early; a policy reads on with others. Every label may be said early unless given. */
  readonly alerts?: readonly string[];
  /** The gold label of a thread as an index into `labels`, or null where the thread has none. */
  goldLabel(thread: Pick<Thread, 'rumor' | 'veracity' | 'labels'>): number | null;
}

/**
 * The gold label of a thread, as a task that somebody wrote gives it.
 * @throws InputError where it is neither null nor an index into the task's labels, such as the −1 of `indexOf`
 */
export function checkedGoldLabel(task: Task, thread: Thread): number | null {
  const label: number | null | undefined = task.goldLabel(thread);
  if (label === null || task.labels[label] !== undefined) return label;
  throw new InputError(
    `the task ${task.name} gives thread ${JSON.stringify(thread.id)} the label ${label}; it must be an index into ` +
      `${task.labels.join(', ')} (0 to ${task.labels.length - 1}), or null where the thread has no label`,
  );
}

/** Rumor or not: the task of early rumor detection. */
export const rumorTask: Task = {
  name: 'rumor',
  labels: ['non-rumor', 'rumor'],
  goldLabel: (thread) => (thread.rumor === null ? null : Number(thread.rumor)),
};

/** The four classes of Twitter15 and Twitter16. */
export const veracityTask: Task = veracityOf('veracity', ['non-rumor', 'true', 'false', 'unverified']);

/** What became of a rumour: the classes of RumourEval, whose threads are all rumours. Others have no label. */
export const rumorVeracityTask: Task = veracityOf('rumor-veracity', ['true', 'false', 'unverified']);

function veracityOf(name: string, labels: readonly string[]): Task {
  return {
    name,
    labels,
    // Without `this`, so that it may be handed on alone.
    goldLabel({ veracity }) {
      const label = veracity === null ? -1 : labels.indexOf(veracity);
      return label < 0 ? null : label;
    },
  };
}

/** The tasks whose classes are known beforehand, by name. */
export const tasks: Readonly<Record<string, Task>> = {
  rumor: rumorTask,
  veracity: veracityTask,
  'rumor-veracity': rumorVeracityTask,
};

/** What tells a task from others in keys: the name of a known one. */
export function identityOf(task: Task): string | Pick<Task, 'name' | 'labels'> {
  const { name, labels } = task;
  return isKnown(task) ? name : { name, labels };
}

function isKnown({ name, labels }: Pick<Task, 'name' | 'labels'>): boolean {
  return Object.hasOwn(tasks, name) && tasks[name].labels.join('\n') === labels.join('\n');
}

/**
 * The task of a label: a known one where name and classes are its, else that of the field `name` of a thread's `labels`.
 * @throws InputError from `goldLabel` for a value that is none of the classes
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
