import { InputError } from '../errors.ts';
import type { Thread } from './thread.ts';

/** What a detector decides about a thread. A class index is always a position in `labels`. */
export interface Task {
  readonly name: string;
  readonly labels: readonly string[];
  /** The gold label of a thread as an index into `labels`, or null where the thread has none. */
  goldLabel(thread: Pick<Thread, 'rumor' | 'veracity'>): number | null;
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

/** The tasks by name. */
export const tasks: Readonly<Record<string, Task>> = {
  rumor: rumorTask,
  veracity: veracityTask,
  'rumor-veracity': rumorVeracityTask,
};
