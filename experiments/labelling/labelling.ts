import { existsSync } from 'node:fs';
import { tasksOf } from '../../src/data/classes-of-labels.ts';
import { type Task, taskOfLabel, tasks } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { writeThreads } from '../../src/data/thread-file.ts';
import { answersOf, threadsWithLabels } from './answers.ts';
import { chanceOrder } from './choose.ts';
import { type LabelFile, openLabelFile } from './label-file.ts';
import { type Learnt, learn } from './learn.ts';

export interface Labelling {
  readonly threads: ReadonlyMap<string, Thread>;
  readonly task: Task;
  readonly file: LabelFile;
  /** Ids of the threads that had no label before, in random order. */
  readonly order: readonly string[];
  labelled(): Thread[];
  /** Trains on the labels so far; null if they are too few. */
  learn(): Promise<Learnt | null>;
  write(path: string): Promise<Thread[]>;
}

/** The label file and the labelled thread file beside a thread file. Both names also follow from the labelled file. */
export function labelPaths(path: string, label: string): { labels: string; out: string } {
  const stem = path.replace(/(\.labelled)?\.jsonl(\.gz)?$/i, '');
  return { labels: `${stem}.${label}.labels.jsonl`, out: `${stem}.labelled.jsonl` };
}

/**
 * Opens or begins the labels of threads.
 * @param options.classes needed if neither the threads nor the label file have the label
 * @throws InputError for a label file of another label or classes, or unknown classes
 */
export function openLabelling(
  threads: readonly Thread[],
  options: { label: string; classes?: readonly string[]; labels: string; seed: number },
): Labelling {
  const { label, labels, seed } = options;
  // Those that the threads have are a beginning; the label file knows better.
  const ofThreads = existsSync(labels) ? undefined : tasksOf(threads).findLast(({ name }) => name === label)?.labels;
  const classes = options.classes ?? ofThreads;
  const file = openLabelFile(labels, { label, seed, ...(classes !== undefined && { classes: [...classes] }) });
  const task = tasks[label] ?? taskOfLabel({ name: label, labels: file.classes });
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  // Those of the file have their labels from here, also where the threads are those that were written with them.
  const ofFile = new Set(file.records().map(({ thread }) => thread));
  const order = chanceOrder(
    threads.flatMap((thread) => (ofFile.has(thread.id) || task.goldLabel(thread) === null ? [thread.id] : [])),
    file.seed,
  );
  const labelled = () => threadsWithLabels(threads, { answers: answersOf(file.records()), order, task });
  let before: Readonly<Record<string, string>> = {};
  return {
    threads: byId,
    task,
    file,
    order,
    labelled,
    async learn() {
      const { classOf } = answersOf(file.records());
      const lesson = await learn({
        threads: {
          labelled: labelled().filter((thread) => task.goldLabel(thread) !== null),
          open: order.flatMap((id) => (classOf.has(id) ? [] : (byId.get(id) ?? []))),
        },
        task,
        seed: file.seed,
        before,
      });
      if (lesson === null) return null;
      before = lesson.labels;
      return lesson.learnt;
    },
    async write(path) {
      const whole = labelled();
      await writeThreads(path, whole);
      return whole;
    },
  };
}
