import { existsSync } from 'node:fs';
import { trainLocalDetector } from '../../experts/detectors/local/train-local-detector.ts';
import { countByLabel, fewestInFolds } from '../../experts/detectors/local/training-labels.ts';
import { tasksOf } from '../../src/data/classes-of-labels.ts';
import { type Task, taskOfLabel, tasks } from '../../src/data/task.ts';
import { isFairTest, type Thread, veracities } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { crossValidate } from '../judging/cross-validate.ts';
import {
  agreesWithPeople,
  type ChoosingDetector,
  chanceOrder,
  leastSure,
  marksOf,
  startOf,
  storedDetector,
} from './choose.ts';
import { type Answers, type LabelStart, openLabelFile } from './label-file.ts';

/**
 * Opens or begins the labels of threads.
 * @param options.annotations store with the judgements of a language model, which choose in place of the local detector
 * @param options.labels the label file
 * @param options.classes needed if neither the threads nor the label file have the label
 * @throws InputError for a label file of another label or classes, or unknown classes
 */
export function openLabelling(
  threads: readonly Thread[],
  options: LabelStart & { labels: string; annotations?: string | undefined },
) {
  const { label, labels, seed, annotations } = options;
  const builtIn = tasks[label]?.labels;
  if (builtIn !== undefined && options.classes !== undefined && String(options.classes) !== String(builtIn))
    throw new InputError(
      `--classes is ${options.classes.join(',')}, and the classes of the label ${label} are ${builtIn.join(',')}; leave --classes out, or give the label another name`,
    );
  // Labels that the threads have are a beginning; the label file knows better.
  const ofThreads = existsSync(labels) ? undefined : tasksOf(threads).find(({ name }) => name === label)?.labels;
  const file = openLabelFile(labels, { label, seed, classes: builtIn ?? options.classes ?? ofThreads });
  const task = taskOfLabel({ name: label, labels: file.classes });
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  // Answered threads have their labels from the file, also if they were written with them.
  const { threads: ofFile } = file.answers();
  const order = chanceOrder(
    threads.flatMap((thread) => (ofFile.has(thread.id) || task.goldLabel(thread) === null ? [thread.id] : [])),
    file.seed,
  );
  const labelled = () => threadsWithLabels(threads, { answers: file.answers(), order, task });
  const stored = annotations === undefined ? null : storedDetector(annotations);
  let before: ReadonlyMap<string, string> = new Map();
  return {
    threads: byId,
    task,
    file,
    /** Ids of the threads that had no label before, in random order. */
    order,
    /** Trains on the labels so far; null for fewer than two classes with two labels. */
    async learn(): Promise<Learnt | null> {
      const { all, classOf } = file.answers();
      const start = new Set(order.slice(0, startOf(all.map(({ chosen }) => chosen))));
      const withLabel = labelled().filter((thread) => task.goldLabel(thread) !== null);
      const open = order.flatMap((id) => (classOf.has(id) ? [] : (byId.get(id) ?? [])));
      const choice = await choiceOf(withLabel, { open, start, task, seed: file.seed, stored });
      if (choice === null) return null;
      const { ranking, labels: predicted } = choice;
      const compared = [...predicted].filter(([id]) => before.has(id));
      const changed = compared.filter(([id, prediction]) => before.get(id) !== prediction).length;
      before = predicted;
      return {
        labels: withLabel.length,
        ranking,
        ...(await tested(withLabel, { task, seed: file.seed })),
        changed: compared.length === 0 ? null : changed / compared.length,
      };
    },
    /** All threads, with the labels so far. */
    labelled,
  };
}

/**
 * The open threads from the smallest margin on, by a detector that learns from the start and from what was chosen by
 * margin. No thread is chosen before it agrees with people on the other labels. Stored judgements choose unless they
 * disagree. Null for fewer than two classes with two labels.
 * @param options.open threads without an answer, in random order
 * @param options.start ids of the threads that teach although they were drawn at random
 */
export async function choiceOf(
  labelled: readonly Thread[],
  options: {
    open: readonly Thread[];
    start: ReadonlySet<string>;
    task: Task;
    seed: number;
    stored?: ChoosingDetector | null;
  },
): Promise<{ ranking: string[]; labels: Map<string, string> } | null> {
  const { open, start, task, seed, stored = null } = options;
  const hasPart = ({ id, chosen }: Thread) => chosen !== 'random' || start.has(id);
  const choosing = labelled.filter(hasPart);
  const taught = taskWith(task, { labelled: choosing, fewest: 2 });
  if (taught === null) return null;
  const detector =
    stored ?? (await trainLocalDetector({ threads: choosing, task: taught, seed, options: quickOptions }));
  const others = labelled.filter((thread) => !hasPart(thread));
  const { ranking, labels } = await leastSure(open, detector);
  const isTrusted = (await agreesWithPeople(others, { detector, task })) ?? stored !== null;
  return { ranking: isTrusted ? ranking : [], labels };
}

export type Labelling = ReturnType<typeof openLabelling>;

/** Options of the detector that ranks threads. It trains every ten labels, in a third of the usual time. */
const quickOptions = { characterWeights: [1], l2: [3e-4], folds: 3 };

/** The result of one training on the labels so far. */
export interface Learnt {
  readonly labels: number;
  /** Open threads, from the smallest margin on; none while the detector hardly agrees with people. */
  readonly ranking: readonly string[];
  /** Cross-validated after all posts on labels that had no part in the choice; null while they are too few. */
  readonly macroF1: number | null;
  readonly tested: number;
  /** Share of the open threads whose prediction changed since the last training; null for the first one. */
  readonly changed: number | null;
}

/** Tested threads that a score needs. */
const fewestTested = 20;
/** With few labels, a detector that misses a fifth of them is worse than the one that learns from all. */
const testFolds = 10;

async function tested(labelled: readonly Thread[], { task, seed }: { task: Task; seed: number }) {
  const fair = labelled.filter(isFairTest);
  const scored = taskWith(task, { labelled: fair, fewest: fewestInFolds });
  if (fair.length < fewestTested || scored === null) return { macroF1: null, tested: fair.length };
  const of = { threads: labelled, task: scored, seed, detector: quickOptions, folds: testFolds, curve: false };
  const { heldOut } = await crossValidate(of);
  const whole = heldOut.systems.find(({ name }) => name === 'all posts');
  return { macroF1: whole?.macroF1 ?? null, tested: heldOut.threads };
}

/** The task without classes that have fewer labels; null for fewer than two classes. */
function taskWith(task: Task, { labelled, fewest }: { labelled: readonly Thread[]; fewest: number }): Task | null {
  const counts = countByLabel({ task, labels: labelled.map((thread) => task.goldLabel(thread) ?? -1) });
  const labels = task.labels.filter((label) => counts[label] >= fewest);
  if (labels.length < 2) return null;
  const goldLabel: Task['goldLabel'] = (thread) => {
    const place = labels.indexOf(task.labels[task.goldLabel(thread) ?? -1]);
    return place < 0 ? null : place;
  };
  return { name: task.name, labels, goldLabel };
}

/**
 * The threads with their new labels, and how each of them was chosen.
 * @param options.order ids of all threads that had no label, in random order
 */
export function threadsWithLabels(
  threads: readonly Thread[],
  { answers, order, task }: { answers: Answers; order: readonly string[]; task: Task },
): Thread[] {
  const { all, classOf, standing } = answers;
  const seen = new Set(standing.map(({ thread }) => thread));
  const marks = marksOf(order, { seen, chosen: all.map(({ chosen }) => chosen) });
  return threads.map((thread) => {
    const chosen = marks.get(thread.id);
    if (chosen === undefined) return thread;
    const { chosen: _, ...plain } = thread;
    const label = classOf.get(thread.id) ?? null;
    if (label === null) return task.goldLabel(thread) === null ? thread : withLabel(plain, task.name, null);
    return { ...withLabel(plain, task.name, label), chosen };
  });
}

function withLabel(thread: Thread, label: string, value: string | null): Thread {
  if (label === 'rumor') return { ...thread, rumor: value === null ? null : value === 'rumor' };
  if (label === 'veracity' || label === 'rumor-veracity')
    return { ...thread, veracity: veracities.find((veracity) => veracity === value) ?? null };
  return { ...thread, labels: { ...thread.labels, [label]: value } };
}
