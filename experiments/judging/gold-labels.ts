import { categoryCombination, type JudgingTask, judgementLabels } from '../../experts/tasks/task-file.ts';
import { type Task, taskOfLabel, tasks } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';

export interface ScoredTask {
  readonly name: string;
  /** Labels of judgements; for a task of categories every combination of them. */
  readonly labels: readonly string[];
  readonly categories: readonly string[] | null;
  /** The thread's label; null without one. */
  goldLabel(thread: Thread): string | null;
}

/** Reads rumour and veracity from the thread's fields, and other labels from `labels`, by the name of the task or category. */
export function scoredTask(task: JudgingTask): ScoredTask {
  const { name } = task;
  const labels = judgementLabels(task);
  const builtIn = Object.hasOwn(tasks, name) ? tasks[name] : undefined;
  const categories = task.categories?.map((category) => category.name) ?? null;
  const combination = (thread: Thread, names: readonly string[]): string | null => {
    const present = names.map((category) => isPresent(thread, category));
    if (present.includes(null)) return null;
    return categoryCombination(
      task,
      names.filter((_, index) => present[index]),
    );
  };
  const labelIn = (thread: Thread): string | null => {
    const value = (builtIn && labelOf(builtIn, thread)) ?? thread.labels?.[name] ?? null;
    if (value === null) return null;
    const label = String(value);
    if (labels.includes(label)) return label;
    throw new InputError(
      `thread ${thread.id} has the label ${JSON.stringify(label)} for ${name}, but the task knows ${labels.join(', ')}; fix the data or the task file`,
    );
  };
  const goldLabel = (thread: Thread) => (categories === null ? labelIn(thread) : combination(thread, categories));
  return { name, labels, categories, goldLabel };
}

export function scoredLabel({ name, labels }: Pick<Task, 'name' | 'labels'>): ScoredTask {
  const task = taskOfLabel({ name, labels });
  return { name, labels, categories: null, goldLabel: (thread) => labelOf(task, thread) };
}

function labelOf({ goldLabel, labels }: Task, thread: Thread): string | null {
  const index = goldLabel(thread);
  return index === null ? null : labels[index];
}

const words: Readonly<Record<string, boolean>> = {
  '1': true,
  true: true,
  yes: true,
  '0': false,
  false: false,
  no: false,
};

function isPresent(thread: Thread, category: string): boolean | null {
  const value = thread.labels?.[category] ?? null;
  if (value === null) return null;
  // Some files write their 0 and 1 as 0.0 and 1.0.
  const read = words[String(value).trim().toLowerCase().replace(/\.0$/, '')];
  if (read === undefined)
    throw new InputError(
      `thread ${thread.id} has ${JSON.stringify(value)} as its label ${category}; it must be 0 or 1, false or true, no or yes`,
    );
  return read;
}
