import type { Task } from '../../src/data/task.ts';
import { type Thread, veracities } from '../../src/data/thread.ts';
import { cohensKappa } from '../../src/metrics/cohens-kappa.ts';
import type { LabelRecord } from './label-file.ts';

/** The answers in a label file, without those that were undone. */
export interface Answers {
  /** Labels and "can't tell" answers, the oldest first. */
  readonly all: readonly LabelRecord[];
  /** The last answer of each thread: its class, or null for "can't tell". */
  readonly classOf: ReadonlyMap<string, string | null>;
  /** The annotators who skipped a thread. */
  readonly skippedBy: ReadonlyMap<string, ReadonlySet<string>>;
  /** The unanswered thread of each annotator, in the order of the file. */
  readonly shownTo: ReadonlyMap<string, LabelRecord>;
}

export function answersOf(records: readonly LabelRecord[]): Answers {
  const shownTo = new Map<string, LabelRecord>();
  const standing: LabelRecord[] = [];
  for (const record of records) {
    if (record.kind === 'shown') {
      shownTo.delete(record.annotator);
      shownTo.set(record.annotator, record);
      continue;
    }
    if (record.kind === 'undo') {
      const place = standing.findLastIndex(
        ({ thread, annotator }) => thread === record.thread && annotator === record.annotator,
      );
      if (place >= 0) standing.splice(place, 1);
      continue;
    }
    standing.push(record);
    if (shownTo.get(record.annotator)?.thread === record.thread) shownTo.delete(record.annotator);
  }
  const all = standing.filter(({ kind }) => kind !== 'skip');
  const skippedBy = new Map<string, Set<string>>();
  for (const { kind, thread, annotator } of standing)
    if (kind === 'skip') skippedBy.set(thread, (skippedBy.get(thread) ?? new Set()).add(annotator));
  return { all, classOf: new Map(all.map((record) => [record.thread, record.class])), skippedBy, shownTo };
}

/** The last answer or skip of an annotator, for an undo. */
export function lastOf(annotator: string, records: readonly LabelRecord[]): LabelRecord | null {
  const open: LabelRecord[] = [];
  for (const record of records) {
    if (record.annotator !== annotator || record.kind === 'shown') continue;
    if (record.kind === 'undo') open.pop();
    else open.push(record);
  }
  return open.at(-1) ?? null;
}

export function agreement({ all }: Answers): { threads: number; kappa: number | null } {
  const byThread = new Map<string, string[]>();
  for (const { thread, class: label } of all)
    if (label !== null) byThread.set(thread, [...(byThread.get(thread) ?? []), label]);
  const pairs = [...byThread.values()].flatMap(([first, second]) =>
    second === undefined ? [] : [[first, second] as const],
  );
  return { threads: pairs.length, kappa: cohensKappa(pairs) };
}

/**
 * The threads with their new labels. Threads count as a random sample up to the first one in the order that was not
 * answered or skipped; later labels count as chosen by margin.
 * @param options.order ids of all threads that had no label, in random order
 */
export function threadsWithLabels(
  threads: readonly Thread[],
  { answers, order, task }: { answers: Answers; order: readonly string[]; task: Task },
): Thread[] {
  const { classOf, skippedBy } = answers;
  const end = order.findIndex((id) => !classOf.has(id) && !skippedBy.has(id));
  const sample = new Set(end < 0 ? order : order.slice(0, end));
  const isAsked = new Set(order);
  return threads.map((thread) => {
    if (!isAsked.has(thread.id)) return thread;
    const { chosen: _, ...plain } = thread;
    const label = classOf.get(thread.id) ?? null;
    if (label === null) return task.goldLabel(thread) === null ? thread : withLabel(plain, task.name, null);
    return { ...withLabel(plain, task.name, label), chosen: sample.has(thread.id) ? 'random' : 'margin' };
  });
}

function withLabel(thread: Thread, label: string, value: string | null): Thread {
  if (label === 'rumor') return { ...thread, rumor: value === null ? null : value === 'rumor' };
  if (label === 'veracity' || label === 'rumor-veracity')
    return { ...thread, veracity: veracities.find((veracity) => veracity === value) ?? null };
  return { ...thread, labels: { ...thread.labels, [label]: value } };
}
