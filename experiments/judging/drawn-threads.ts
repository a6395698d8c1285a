import { splitThreads } from '../../src/data/split.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { ScoredTask } from './gold-labels.ts';

/** The threads that have a label of the task. @throws InputError if none has */
export function labelledThreads(
  threads: readonly Thread[],
  { task, context }: { task: ScoredTask; context: WorkContext },
): Thread[] {
  const labelled = threads.filter((thread) => task.goldLabel(thread) !== null);
  if (labelled.length === 0) {
    const others = [...new Set(threads.flatMap(({ labels }) => Object.keys(labels ?? {})))];
    const hint = others.length === 0 ? '' : `, they have labels for ${others.join(', ')}`;
    throw new InputError(
      `none of the ${threads.length} threads has a label for ${task.name}${hint}; give labelled threads, or another task`,
    );
  }
  const without = threads.length - labelled.length;
  if (without > 0) context.onNote(`${without} threads have no label for ${task.name} and are left out`);
  return labelled;
}

/**
 * The threads of a part that test: not those that were chosen by margin or chose them, because scores must not count them.
 * @param options.part names it in the message
 * @param options.remedy ends the message
 * @throws InputError if none does
 */
export function testsOf<Of extends Pick<Thread, 'chosen'>>(
  threads: readonly Of[],
  { part, remedy = '' }: { part: string; remedy?: string },
): Of[] {
  const fair = threads.filter(isFairTest);
  if (fair.length === 0)
    throw new InputError(
      `${part} has no label that was drawn at random, and those chosen by margin, or that chose them, test nothing; label more (\`earshot label --strategy random\`)${remedy}`,
    );
  return fair;
}

/** The labelled threads that test, with a note on the others. @throws as `testsOf` */
export function fairTests<Of extends Pick<Thread, 'chosen'>>(
  labelled: readonly Of[],
  { onNote }: Pick<WorkContext, 'onNote'>,
): Of[] {
  const fair = labelled.length === 0 ? [] : testsOf(labelled, { part: 'the data' });
  if (fair.length < labelled.length)
    onNote(
      `${labelled.length - fair.length} of ${labelled.length} labelled threads were chosen by margin, or chose them, and are harder than others; only the other ${fair.length} test`,
    );
  return fair;
}

/** Draws labelled threads, stratified by label; all of them without a limit. */
export function drawnThreads(
  threads: readonly Thread[],
  of: {
    limit?: number;
    seed?: number;
    labelOf: (thread: Thread) => string | number | null;
  },
): Thread[] {
  const { limit = threads.length, seed = 1, labelOf } = of;
  const parts = { drawn: Math.min(limit, threads.length) };
  return splitThreads(threads, { parts, seed, stratifyBy: labelOf }).drawn;
}
