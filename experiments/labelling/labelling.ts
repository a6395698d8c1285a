import { existsSync } from 'node:fs';
import { trainLocalDetector } from '../../experts/detectors/local/train-local-detector.ts';
import { countByLabel, fewestInFolds } from '../../experts/detectors/local/training-labels.ts';
import { tasksOf } from '../../src/data/classes-of-labels.ts';
import { type Task, taskOfLabel, tasks } from '../../src/data/task.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import { writeThreads } from '../../src/data/thread-file.ts';
import { crossValidate } from '../judging/cross-validate.ts';
import { chanceOrder, leastSure, randomStart, storedDetector } from './choose.ts';
import { openLabelFile } from './label-file.ts';
import { answersOf, threadsWithLabels } from './session.ts';

/** The label file and the labelled thread file beside a thread file. Both names also follow from the labelled file. */
export function labelPaths(path: string, label: string): { labels: string; out: string } {
  const stem = path.replace(/(\.labelled)?\.jsonl(\.gz)?$/i, '');
  return { labels: `${stem}.${label}.labels.jsonl`, out: `${stem}.labelled.jsonl` };
}

/**
 * Opens or begins the labels of threads.
 * @param options.annotations store with the judgements of a language model, which choose in place of the local detector
 * @param options.classes needed if neither the threads nor the label file have the label
 * @throws InputError for a label file of another label or classes, or unknown classes
 */
export function openLabelling(
  threads: readonly Thread[],
  options: { label: string; classes?: readonly string[]; labels: string; seed: number; annotations?: string },
) {
  const { label, labels, seed, annotations } = options;
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
  const stored = annotations === undefined ? null : storedDetector(annotations);
  let before: Readonly<Record<string, string>> = {};
  return {
    threads: byId,
    task,
    file,
    /** Ids of the threads that had no label before, in random order. */
    order,
    /** Trains on the labels so far; null for fewer than two classes with two labels. */
    async learn(): Promise<Learnt | null> {
      const { classOf } = answersOf(file.records());
      const withLabel = labelled().filter((thread) => task.goldLabel(thread) !== null);
      const start = new Set(order.slice(0, randomStart));
      const choosing = withLabel.filter(({ id, chosen }) => chosen !== 'random' || start.has(id));
      const taught = taskWith(task, choosing);
      if (taught === null) return null;
      const training = { threads: choosing, task: taught, seed: file.seed, options: quickOptions };
      const open = order.flatMap((id) => (classOf.has(id) ? [] : (byId.get(id) ?? [])));
      const { ranking, labels: predicted } = await leastSure(open, stored ?? (await trainLocalDetector(training)));
      const compared = Object.keys(predicted).filter((id) => before[id] !== undefined);
      const changed = { threads: compared.filter((id) => before[id] !== predicted[id]).length, of: compared.length };
      before = predicted;
      return { labels: withLabel.length, ranking, ...(await tested(withLabel, task, file.seed)), changed };
    },
    async write(path: string): Promise<Thread[]> {
      const whole = labelled();
      await writeThreads(path, whole);
      return whole;
    },
  };
}

export type Labelling = ReturnType<typeof openLabelling>;

/** Options of the detector that ranks threads. It trains every ten labels, in a third of the usual time. */
export const quickOptions = { characterWeights: [1], l2: [3e-4], folds: 3 };

/** The result of one training on the labels so far. */
export interface Learnt {
  readonly labels: number;
  /** Open threads, from the smallest margin on. */
  readonly ranking: readonly string[];
  /** Cross-validated after all posts on labels that had no part in the choice; null while they are too few. */
  readonly macroF1: number | null;
  readonly tested: number;
  /** Open threads whose prediction changed since the last training, of those judged by both. */
  readonly changed: { readonly threads: number; readonly of: number };
}

/** Tested threads that a score needs. */
const fewestTested = 20;

async function tested(
  labelled: readonly Thread[],
  task: Task,
  seed: number,
): Promise<Pick<Learnt, 'macroF1' | 'tested'>> {
  const fair = labelled.filter(isFairTest);
  const counts = Object.values(countByLabel({ task, labels: fair.map((thread) => task.goldLabel(thread) ?? -1) }));
  if (fair.length < fewestTested || Math.min(...counts) < fewestInFolds) return { macroF1: null, tested: fair.length };
  const { heldOut } = await crossValidate({ threads: labelled, task, seed, detector: quickOptions, curve: false });
  const whole = heldOut.systems.find(({ name }) => name === 'all posts');
  return { macroF1: whole?.macroF1 ?? null, tested: heldOut.threads };
}

/** The task without classes that have fewer than two labels; null for fewer than two classes. */
function taskWith(task: Task, labelled: readonly Thread[]): Task | null {
  const counts = countByLabel({ task, labels: labelled.map((thread) => task.goldLabel(thread) ?? -1) });
  const labels = task.labels.filter((label) => counts[label] >= 2);
  if (labels.length < 2) return null;
  const goldLabel: Task['goldLabel'] = (thread) => {
    const place = labels.indexOf(task.labels[task.goldLabel(thread) ?? -1]);
    return place < 0 ? null : place;
  };
  return { name: task.name, labels, goldLabel };
}
