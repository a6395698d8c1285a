import type { Thread } from './thread.ts';

/** What a detector decides of a thread. Class indices everywhere are positions in `labels`. */
export interface Task {
  readonly name: string;
  readonly labels: readonly string[];
  /** The gold label of a thread as an index into `labels`, or null where the thread has none. */
  goldLabel(thread: Thread): number | null;
}

/** Rumour or not: the task of early rumour detection. */
export const rumorTask: Task = {
  name: 'rumor',
  labels: ['non-rumor', 'rumor'],
  goldLabel: (thread) => (thread.rumor === null ? null : Number(thread.rumor)),
};

/** Four classes of RumourEval and Twitter15/16. */
export const veracityTask: Task = {
  name: 'veracity',
  labels: ['non-rumor', 'true', 'false', 'unverified'],
  goldLabel(thread) {
    return thread.veracity === null ? null : this.labels.indexOf(thread.veracity);
  },
};

export const tasks: Readonly<Record<string, Task>> = { rumor: rumorTask, veracity: veracityTask };
