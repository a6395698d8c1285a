import { trainLocalDetector } from '../../experts/detectors/local/train-local-detector.ts';
import { fewestInFolds } from '../../experts/detectors/local/training-labels.ts';
import type { Task } from '../../src/data/task.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import { crossValidate } from '../judging/cross-validate.ts';
import { leastSure } from './choose.ts';

/** Of the detector that chooses what is labelled next: it learns again every ten labels, in a third of the usual time. */
export const quickOptions = { characterWeights: [1], l2: [3e-4], folds: 3 };

/** The result of one training on the labels so far. */
export interface Learnt {
  readonly labels: number;
  /** Open threads, the one whose class the detector is least sure of first. */
  readonly ranking: readonly string[];
  /** Cross-validated after all posts, over the labels that were drawn at random; null while they are too few. */
  readonly macroF1: number | null;
  /** Labels that it was tested on. */
  readonly tested: number;
  /** Of the open threads that this detector and the one before judged, those that it gives another class. */
  readonly changed: { readonly threads: number; readonly of: number };
}

/** Tested threads from which a score says something. */
const fewestTested = 20;

/**
 * Trains a detector on the labels so far, which chooses what to label next, and tests it.
 * @param options.threads labelled ones with their labels, and open ones in the order by chance
 * @param options.before labels that the detector before gave open threads
 * @returns null while fewer than two classes have two labels
 */
export async function learn(options: {
  threads: { readonly labelled: readonly Thread[]; readonly open: readonly Thread[] };
  task: Task;
  seed: number;
  before: Readonly<Record<string, string>>;
}): Promise<{ learnt: Learnt; labels: Record<string, string> } | null> {
  const { threads, seed, before } = options;
  const { labelled, open } = threads;
  const task = taskWith(options.task, { labelled, fewest: 2 });
  if (task === null) return null;
  const detector = await trainLocalDetector({ threads: labelled, task, seed, options: quickOptions });
  const { ranking, labels } = await leastSure(open, detector);
  const compared = Object.keys(labels).filter((id) => before[id] !== undefined);
  return {
    learnt: {
      labels: labelled.length,
      ranking,
      ...(await tested(options)),
      changed: { threads: compared.filter((id) => before[id] !== labels[id]).length, of: compared.length },
    },
    labels,
  };
}

async function tested({
  threads: { labelled },
  task,
  seed,
}: Parameters<typeof learn>[0]): Promise<Pick<Learnt, 'macroF1' | 'tested'>> {
  const fair = labelled.filter((thread) => isFairTest(thread) && task.goldLabel(thread) !== null);
  const testable = taskWith(task, { labelled: fair, fewest: fewestInFolds });
  if (fair.length < fewestTested || testable?.labels.length !== task.labels.length)
    return { macroF1: null, tested: fair.length };
  const { heldOut } = await crossValidate({ threads: labelled, task, seed, detector: quickOptions, curve: false });
  const whole = heldOut.systems.find(({ name }) => name === 'all posts');
  return { macroF1: whole?.macroF1 ?? null, tested: heldOut.threads };
}

/** The task with the classes that have threads enough; a rare one may have none for long. Null for fewer than two classes. */
function taskWith(task: Task, { labelled, fewest }: { labelled: readonly Thread[]; fewest: number }): Task | null {
  const counts = task.labels.map((_, label) => labelled.filter((thread) => task.goldLabel(thread) === label).length);
  const labels = task.labels.filter((_, label) => counts[label] >= fewest);
  if (labels.length < 2) return null;
  const goldLabel: Task['goldLabel'] = (thread) => {
    const place = labels.indexOf(task.labels[task.goldLabel(thread) ?? -1]);
    return place < 0 ? null : place;
  };
  return { name: task.name, labels, goldLabel };
}
