import { trainLocalDetector } from '../../experts/detectors/local/train-local-detector.ts';
import { fewestInFolds } from '../../experts/detectors/local/training-labels.ts';
import type { Task } from '../../src/data/task.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import { crossValidate } from '../judging/cross-validate.ts';
import { leastSure } from './choose.ts';

/** Options of the detector that ranks threads. It trains every ten labels, in a third of the usual time. */
export const quickOptions = { characterWeights: [1], l2: [3e-4], folds: 3 };

/** The result of one training on the labels so far. */
export interface Learnt {
  readonly labels: number;
  /** Open threads, from the smallest margin on. */
  readonly ranking: readonly string[];
  /** Cross-validated after all posts on the randomly drawn labels; null while they are too few. */
  readonly macroF1: number | null;
  readonly tested: number;
  /** Open threads whose prediction changed since the last training, of those judged by both. */
  readonly changed: { readonly threads: number; readonly of: number };
}

/** Tested threads that a score needs. */
const fewestTested = 20;

/**
 * Trains a detector on the labels so far, ranks the open threads, and tests it.
 * @param options.threads labelled threads, and open ones in random order
 * @param options.before predictions of the detector before
 * @returns null for fewer than two classes with two labels
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

/** The task without rare classes; null for fewer than two classes. */
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
