import type { AnnotationFilter, ListedAnnotation } from '../../experts/annotations/annotation-list.ts';
import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { judgingTaskSchema } from '../../experts/tasks/task-file.ts';
import { tasks } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type ScoredTask, scoredLabel, scoredTask } from './gold-labels.ts';

export interface WrongAnnotation extends ListedAnnotation {
  readonly trueLabel: string;
}

/** Annotations read at once: each holds a whole conversation. */
const rowsAtOnce = 500;

/**
 * The judgements in a store that differ from the labels of their threads, by each detector's task.
 * @returns `compared`: the number of judgements with a label
 */
export function wrongAnnotations(
  store: AnnotationStore,
  { threads, filter }: { threads: readonly Thread[]; filter: AnnotationFilter },
): { readonly wrong: readonly WrongAnnotation[]; readonly compared: number } {
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  // Parts of judgements have labels of their own.
  const listed = store.list(filter).filter(({ detector, threadId }) => !detector.includes('/') && byId.has(threadId));
  const wrong: WrongAnnotation[] = [];
  let compared = 0;
  for (let start = 0; start < listed.length; start += rowsAtOnce) {
    const some = listed.slice(start, start + rowsAtOnce);
    const rows = store.getRows(some.map(({ key }) => key));
    for (const row of some) {
      const thread = byId.get(row.threadId);
      const trueLabel = (thread && taskOfOption(rows.get(row.key)?.request.options.task)?.goldLabel(thread)) ?? null;
      if (trueLabel === null) continue;
      compared++;
      if (trueLabel !== row.label) wrong.push({ ...row, trueLabel });
    }
  }
  return { wrong, compared };
}

/** The task in a detector's options: a whole task, or the name of a local detector's label. */
function taskOfOption(option: unknown): Pick<ScoredTask, 'goldLabel'> | null {
  if (typeof option === 'string' && Object.hasOwn(tasks, option)) return scoredLabel(tasks[option]);
  if (typeof option === 'string')
    return {
      goldLabel({ labels = {} }) {
        const value = Object.hasOwn(labels, option) ? labels[option] : null;
        return value === null ? null : String(value);
      },
    };
  const task = judgingTaskSchema.safeParse(option).data;
  return task === undefined ? null : scoredTask(task);
}
