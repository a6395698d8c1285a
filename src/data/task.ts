import type { Thread } from './thread.ts';

/** What a detector decides about a thread. A class index is always a position in `labels`. */
export interface Task {
  readonly name: string;
  readonly labels: readonly string[];
  /** The gold label of a thread as an index into `labels`, or null where the thread has none. */
  goldLabel(thread: Pick<Thread, 'rumor' | 'veracity'>): number | null;
}

/** Rumor or not: the task of early rumor detection. */
export const rumorTask: Task = {
  name: 'rumor',
  labels: ['non-rumor', 'rumor'],
  goldLabel: (thread) => (thread.rumor === null ? null : Number(thread.rumor)),
};

/** The four classes of Twitter15 and Twitter16. */
export const veracityTask: Task = {
  name: 'veracity',
  labels: ['non-rumor', 'true', 'false', 'unverified'],
  goldLabel(thread) {
    return thread.veracity === null ? null : this.labels.indexOf(thread.veracity);
  },
};

/** What became of a rumour: the classes of RumourEval, whose threads are all rumours. Others have no label. */
export const rumorVeracityTask: Task = {
  name: 'rumor-veracity',
  labels: ['true', 'false', 'unverified'],
  goldLabel(thread) {
    const label = thread.veracity === null ? -1 : this.labels.indexOf(thread.veracity);
    return label < 0 ? null : label;
  },
};

/** The tasks by name. */
export const tasks: Readonly<Record<string, Task>> = {
  rumor: rumorTask,
  veracity: veracityTask,
  'rumor-veracity': rumorVeracityTask,
};
