import type { Task } from '../../src/data/task.ts';
import { type Thread, veracities } from '../../src/data/thread.ts';
import { cohensKappa } from '../../src/metrics/classification.ts';
import { Random } from '../../src/tensor/random.ts';
import { nextChoice, randomStart } from './choose.ts';
import type { LabelFile, LabelRecord } from './label-file.ts';

/** The answers in a label file, without those that were undone. */
export interface Answers {
  /** Answers and skips, the oldest first. */
  readonly standing: readonly LabelRecord[];
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
  return { standing, all, classOf: new Map(all.map((record) => [record.thread, record.class])), skippedBy, shownTo };
}

/** The last answer or skip of an annotator, for an undo. */
export function lastOf(annotator: string, { standing }: Answers): LabelRecord | null {
  return standing.findLast((record) => record.annotator === annotator) ?? null;
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
 * answered or skipped; later labels count as chosen by margin. Once the sample is twice the start, its start only
 * trains if others were chosen by margin.
 * @param options.order ids of all threads that had no label, in random order
 */
export function threadsWithLabels(
  threads: readonly Thread[],
  { answers, order, task }: { answers: Answers; order: readonly string[]; task: Task },
): Thread[] {
  const { all, classOf, skippedBy } = answers;
  const end = order.findIndex((id) => !classOf.has(id) && !skippedBy.has(id));
  const sample = end < 0 ? order : order.slice(0, end);
  const hasStart = sample.length >= 2 * randomStart && all.some(({ chosen }) => chosen === 'margin');
  const start = hasStart ? randomStart : 0;
  const placeOf = new Map(order.map((id, place) => [id, place]));
  const chosenAt = (place: number) => (place < start ? 'start' : place < sample.length ? 'random' : 'margin');
  return threads.map((thread) => {
    const place = placeOf.get(thread.id);
    if (place === undefined) return thread;
    const { chosen: _, ...plain } = thread;
    const label = classOf.get(thread.id) ?? null;
    if (label === null) return task.goldLabel(thread) === null ? thread : withLabel(plain, task.name, null);
    return { ...withLabel(plain, task.name, label), chosen: chosenAt(place) };
  });
}

function withLabel(thread: Thread, label: string, value: string | null): Thread {
  if (label === 'rumor') return { ...thread, rumor: value === null ? null : value === 'rumor' };
  if (label === 'veracity' || label === 'rumor-veracity')
    return { ...thread, veracity: veracities.find((veracity) => veracity === value) ?? null };
  return { ...thread, labels: { ...thread.labels, [label]: value } };
}

/** One thread in twenty is labelled twice, to measure agreement between people and of one person. */
const againEvery = 20;
/** A person remembers the last few answers. */
const leastBetween = 10;
const leaseMs = 10 * 60_000;

export type Answer = { readonly kind: 'label'; readonly class: string } | { readonly kind: 'cannot-tell' | 'skip' };

/** @param options.order ids of the threads without a label, in random order */
export function labelSession(options: {
  file: LabelFile;
  order: readonly string[];
  annotator: string;
  now: () => Date;
}) {
  const { file, order, annotator, now } = options;
  const inFile = new Set(order);
  const add = (record: Pick<LabelRecord, 'kind' | 'thread' | 'chosen' | 'chance'> & { class?: string }) => {
    const { kind, thread, chosen, chance } = record;
    const time = now().toISOString();
    file.append({ kind, thread, class: record.class ?? null, annotator, time, chosen, chance });
  };
  const inSight = (records: readonly LabelRecord[]) => {
    const shown = answersOf(records).shownTo.get(annotator) ?? null;
    return shown !== null && inFile.has(shown.thread) ? shown : null;
  };
  const isLeased = ({ time }: LabelRecord) => Date.parse(time) > now().getTime() - leaseMs;
  /**
   * Of two annotators who took a thread at the same time, the first in the file keeps it: after adding a record, a
   * process sees all records before it.
   */
  const isTaken = (shown: LabelRecord, records: readonly LabelRecord[]) => {
    if (shown.chosen === 'again') return false;
    const inOrder = [...answersOf(records).shownTo.values()];
    const rivals = isLeased(shown)
      ? inOrder.slice(0, inOrder.indexOf(shown))
      : inOrder.filter((other) => other !== shown);
    const later = records
      .slice(records.indexOf(shown) + 1)
      .filter(({ kind }) => kind === 'label' || kind === 'cannot-tell');
    return [...rivals.filter(isLeased), ...later].some(
      (other) => other.thread === shown.thread && other.annotator !== annotator,
    );
  };
  return {
    /** The thread to show, which stays until it is answered, in other processes too; null after the last. */
    current(ranking: readonly string[]): LabelRecord | null {
      for (;;) {
        const records = file.records();
        const shown = inSight(records);
        if (shown !== null && !isTaken(shown, records)) return shown;
        const answers = answersOf(records);
        const { classOf, skippedBy, shownTo } = answers;
        const others = Array.from(shownTo.values()).filter((other) => other.annotator !== annotator && isLeased(other));
        const held = new Set(others.map(({ thread }) => thread));
        const isSkipped = (id: string) => skippedBy.get(id)?.has(annotator) === true;
        const open = order.filter((id) => !classOf.has(id) && !held.has(id) && !isSkipped(id));
        const choice =
          again(answers, { annotator, seed: file.seed, isSkipped }) ??
          nextChoice({ open, answered: classOf.size, ranking });
        if (choice === null) return null;
        add({ kind: 'shown', ...choice });
      }
    },
    /** Adds the answer. Answers about other threads are ignored, such as a form that is sent twice. */
    answer(thread: string, answer: Answer): void {
      const shown = inSight(file.records());
      if (shown?.thread !== thread) return;
      const { chosen, chance } = shown;
      add({ thread, chosen, chance, ...answer });
    },
    undo(): void {
      const last = lastOf(annotator, answersOf(file.records()));
      if (last === null) return;
      const { thread, chosen, chance } = last;
      add({ kind: 'undo', thread, chosen, chance });
      add({ kind: 'shown', thread, chosen, chance });
    },
  };
}

/** A thread that was labelled once, preferably by another annotator; null if none is due. */
function again(
  { all }: Answers,
  { annotator, seed, isSkipped }: { annotator: string; seed: number; isSkipped: (thread: string) => boolean },
) {
  const ofMine = all.filter((record) => record.annotator === annotator);
  const mine = ofMine.length;
  if ((mine + 1) % againEvery !== 0) return null;
  const times = new Map<string, number>();
  for (const { thread } of all) times.set(thread, (times.get(thread) ?? 0) + 1);
  const once = all.filter(
    (record) => record.class !== null && times.get(record.thread) === 1 && !isSkipped(record.thread),
  );
  const others = once.filter((record) => record.annotator !== annotator);
  const recent = new Set(ofMine.slice(-leastBetween).map(({ thread }) => thread));
  const from = others.length > 0 ? others : once.filter(({ thread }) => !recent.has(thread));
  if (from.length === 0) return null;
  const { thread } = from[Random.seeded({ seed, purpose: `asked again ${annotator} ${mine}` }).integer(from.length)];
  return { thread, chosen: 'again' as const, chance: 1 / from.length };
}
