import { InputError } from '../errors.ts';
import { Random } from '../tensor/random.ts';
import { groupBy } from './group-by.ts';
import { nearDuplicateAt, nearDuplicatePairs } from './near-duplicates.ts';
import type { Task } from './task.ts';
import type { Thread } from './thread.ts';

export interface LabelFold {
  readonly train: readonly Thread[];
  readonly test: readonly Thread[];
}

/**
 * Folds for a cross-validation over labelled threads: each thread is tested once. Every label is spread evenly over the
 * folds. Threads of one event, or with nearly equal claims, stay in one fold, because a detector that has read one of
 * them knows the others. If an event has more threads than a fold, events are divided. So is a larger group of
 * near-duplicates, or one with so many threads of a rare label that the other folds could not learn it.
 * @param options.labelOf the class of each thread
 * @throws InputError for fewer threads than folds
 */
export function labelFolds(
  threads: readonly Thread[],
  options: { folds: number; seed: number; labelOf: (thread: Thread) => number },
): LabelFold[] {
  const { folds, seed, labelOf } = options;
  if (threads.length < folds)
    throw new InputError(
      `${threads.length} labelled threads cannot fill ${folds} folds; label more, or use fewer folds`,
    );
  const random = Random.seeded({ seed, purpose: 'label folds' });
  const foldSize = threads.length / folds;
  const labels = [...new Set(threads.map(labelOf))].sort((a, b) => a - b);
  const byLabel = groupBy(threads, labelOf);
  // The other threads must still teach every label that has enough of them.
  const isDividedFor = (group: readonly Thread[]) =>
    [...groupBy(group, labelOf)].some(
      ([label, members]) => members.length > 1 && (byLabel.get(label)?.length ?? 0) - members.length < fewestInTraining,
    );
  const groups = togetherIn(threads, foldSize).flatMap((group) =>
    isDividedFor(group) ? group.map((thread) => [thread]) : [group],
  );
  const counts = Array.from({ length: folds }, () => labels.map(() => 0));
  const foldOf = new Map<Thread, number>();
  // Single threads follow label by label and even out the groups.
  const commonest = (group: readonly Thread[]) => {
    const byLabel = groupBy(group, labelOf);
    return [...byLabel].sort(([, a], [, b]) => b.length - a.length)[0][0];
  };
  const ordered = random
    .shuffled(groups)
    .map((group) => ({ group, label: commonest(group) }))
    .sort((a, b) => b.group.length - a.group.length || a.label - b.label);
  for (const { group, label } of ordered) {
    const place = labels.indexOf(label);
    const total = (fold: number) => counts[fold].reduce((sum, count) => sum + count, 0);
    const order = random.shuffled([...counts.keys()]);
    const [chosen] = order.sort((a, b) => counts[a][place] - counts[b][place] || total(a) - total(b));
    for (const thread of group) {
      foldOf.set(thread, chosen);
      counts[chosen][labels.indexOf(labelOf(thread))]++;
    }
  }
  return counts.map((_, fold) => ({
    train: threads.filter((thread) => foldOf.get(thread) !== fold),
    test: threads.filter((thread) => foldOf.get(thread) === fold),
  }));
}

/**
 * Folds in the order of time: the threads are cut into one more block than there are folds, and each fold tests a block
 * after training on all earlier ones. The first block is never tested.
 * @throws InputError for a thread without times, or for too few threads
 */
export function timeFolds(threads: readonly Thread[], { folds }: { folds: number }): LabelFold[] {
  const timeless = threads.find((thread) => beginningOf(thread) === null);
  if (timeless !== undefined)
    throw new InputError(
      `folds in the order of time need a time in every labelled thread, and ${JSON.stringify(timeless.id)} has none; give its posts times, or set crossFitting.order to random`,
    );
  const blocks = folds + 1;
  if (threads.length < 2 * blocks)
    throw new InputError(
      `${threads.length} labelled threads are too few for ${folds} folds in the order of time; label more, or use fewer folds`,
    );
  const ordered = [...threads].sort((a, b) => (beginningOf(a) ?? 0) - (beginningOf(b) ?? 0));
  const startOf = (block: number) => Math.round((block * ordered.length) / blocks);
  return Array.from({ length: folds }, (_, fold) => ({
    train: ordered.slice(0, startOf(fold + 1)),
    test: ordered.slice(startOf(fold + 1), startOf(fold + 2)),
  }));
}

/** Shares of the labels that a learning curve tests besides all of them. */
const curveShares = [0.25, 0.5];

/** Ids of a share of the threads, by label. A smaller share with the same seed is part of a larger one. */
export function nestedShare(
  labelled: readonly Thread[],
  { share, seed, task }: { share: number; seed: number; task: Task },
): ReadonlySet<string> {
  const random = Random.seeded({ seed, purpose: 'learning curve' });
  const byLabel = groupBy(labelled, (thread) => task.goldLabel(thread));
  return new Set(
    [...byLabel.values()].flatMap((threads) =>
      random
        .shuffled(threads)
        .slice(0, Math.round(share * threads.length))
        .map(({ id }) => id),
    ),
  );
}

/** Folds with fewer training labels, for a learning curve: shares from which a detector can still learn every label. */
export function curveFolds(
  folds: readonly LabelFold[],
  of: { labelled: readonly Thread[]; seed: number; task: Task },
): { labels: number; folds: LabelFold[] }[] {
  return curveShares
    .map((share) => nestedShare(of.labelled, { ...of, share }))
    .map((ids) => ({
      labels: ids.size,
      folds: folds.map(({ train, test }) => ({ train: train.filter(({ id }) => ids.has(id)), test })),
    }))
    .filter(({ folds }) => folds.every(({ train }) => hasEveryLabel(train, of.task)));
}

/** Threads of a label that a detector needs. */
const fewestInTraining = 2;

/** Whether a detector can learn every label from these threads. */
export function hasEveryLabel(threads: readonly Thread[], task: Task): boolean {
  const labels = threads.map((thread) => task.goldLabel(thread));
  return task.labels.every((_, label) => labels.filter((value) => value === label).length >= fewestInTraining);
}

/** Milliseconds since 1970 of the first post with a time; null without one. */
export function beginningOf({ posts }: Thread): number | null {
  const first = posts.find(({ time }) => time !== null)?.time ?? null;
  return first === null ? null : Date.parse(first);
}

/** Groups of threads that share a fold: those of an event, and near-duplicates. Too large groups are divided. */
function togetherIn(threads: readonly Thread[], foldSize: number): Thread[][] {
  const groupOf = Int32Array.from(threads.keys());
  const join = (first: number, second: number) => {
    const [target, gone] = [groupOf[first], groupOf[second]];
    for (const [place, group] of groupOf.entries()) if (group === gone) groupOf[place] = target;
  };
  const events = [...groupBy([...threads.keys()], (place) => threads[place].event)].filter(([event]) => event !== null);
  // With a few large events, folds of small ones would test on new events and the others on known ones.
  if (events.every(([, places]) => places.length <= foldSize))
    for (const [, [first, ...others]] of events) for (const other of others) join(first, other);
  for (const [first, second] of nearDuplicatePairs(threads, nearDuplicateAt))
    if (groupOf[first] !== groupOf[second]) join(first, second);
  return [...groupBy(threads.keys(), (place) => groupOf[place]).values()].flatMap((places) => {
    const group = places.map((place) => threads[place]);
    return group.length <= Math.max(1, foldSize) ? [group] : group.map((thread) => [thread]);
  });
}
