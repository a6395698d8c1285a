import { labelsWithoutTask, tasksOf } from '../../src/data/classes-of-labels.ts';
import { describeThreads } from '../../src/data/describe.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';

/** Fewer leave nothing to test on once the demonstrations have theirs. */
export const fewestLabelled = 40;

/** Labels of each class: two for the part that trains a local detector, and some for the test. */
const fewestOfLabel = 10;

export function foundIn(threads: readonly Thread[], path: string) {
  const counted = tasksOf(threads)
    .map((task) => {
      const labels = threads.map((thread) => task.goldLabel(thread)).filter((label) => label !== null);
      const all = task.labels.map((label, index) => ({ label, count: labels.filter((gold) => gold === index).length }));
      const counts = all.filter(({ count }) => count > 0);
      return {
        task,
        labelled: labels.length,
        isWhole: all.every(({ count }) => count >= fewestOfLabel),
        classes: counts.length,
        counts,
      };
    })
    .sort((a, b) => Number(b.isWhole) - Number(a.isWhole) || b.labelled - a.labelled);
  const usable = counted.filter(({ classes }) => classes >= 2);
  const [best] = usable;
  const most = counted.reduce((first, next) => (next.labelled > first.labelled ? next : first));
  const unusable = labelsWithoutTask(threads);
  const why =
    most.labelled > 0 ? countsInWords(most.counts) : unusable.length > 0 ? unusable.join('; ') : 'none is labelled';
  if (best === undefined || best.labelled < fewestLabelled)
    throw new InputError(
      `${path} has ${best === undefined ? `no threads with two different labels (${why})` : `${best.labelled} labelled threads (${countsInWords(best.counts)})`} among its ${threads.length}; ` +
        `at least ${fewestLabelled} are needed to train and test on. Label more (\`npx ${labelCommandFor(path, most.labelled > 0 ? most.task.name : null)}\`), or try \`earshot data synth\``,
    );
  return { description: describeThreads(threads), tasks: usable };
}

/** The command that labels threads. @param task null if no label has a name yet */
export function labelCommandFor(path: string, task: string | null): string {
  return `earshot label ${quoted(path)} ${task === null ? '--label outcome --classes resolved,escalated' : `--label ${quoted(task)}`}`;
}

/** `resolved 142, escalated 105`. */
export function countsInWords(counts: readonly { readonly label: string; readonly count: number }[]): string {
  return counts.map(({ label, count }) => `${label} ${count}`).join(', ');
}

export interface PartCounts {
  readonly demonstrations: number;
  readonly environment: number;
  readonly development: number;
  /** 0 for other goals than a guarantee. */
  readonly calibration: number;
}

/** More threads hardly lower the threshold, and judging them by a language model costs money. */
const mostCalibration = 200;

/** The paper's sizes if there are enough threads, or else shares; the test takes the rest, at least three tenths. */
export function fittingParts(
  labelled: number,
  { unlabelled, calibrates }: { unlabelled: number; calibrates: boolean },
): PartCounts {
  const most = (count: number, share: number) => Math.min(count, Math.max(4, Math.floor(share * labelled)));
  // Threads without a label are the environment's first, then the calibration's.
  // A guarantee gains more from a larger calibration set than from a better score.
  const environment = calibrates
    ? Math.min(100, Math.floor(unlabelled / 3) + most(100, 0.18))
    : Math.min(300, unlabelled + most(300, 0.18));
  const left = Math.max(0, unlabelled - environment);
  return {
    demonstrations: most(50, 0.12),
    environment,
    // A guarantee chooses the threshold, so that nothing is left to choose on a development part.
    development: calibrates ? 0 : most(200, 0.1),
    calibration: calibrates ? Math.min(mostCalibration, left + most(400, 0.2)) : 0,
  };
}

/** With more posts without times, the detector reads texts alone. */
const mostWithoutTime = 0.1;
/** Times help a detector of 100 training threads, less one of 350, and hardly one of 400 (experiments/results/cross-fitting.md). */
const mostTimedThreads = 400;

export function readsTimes(of: { labelled: number; posts: number; postsWithoutTime: number }): boolean {
  return of.labelled <= mostTimedThreads && of.postsWithoutTime <= mostWithoutTime * of.posts;
}
