import { Random } from '../../src/tensor/random.ts';
import { type Answers, answersOf, lastOf } from './answers.ts';
import { nextChoice } from './choose.ts';
import type { LabelFile, LabelRecord } from './label-file.ts';

/** One thread in twenty is labelled twice, to measure agreement between people and of one person. */
const againEvery = 20;
/** A person remembers the last few answers. */
const leastBetween = 10;
const leaseMs = 10 * 60_000;

export type Answer = { readonly kind: 'label'; readonly class: string } | { readonly kind: 'cannot-tell' | 'skip' };

export interface LabelSession {
  readonly annotator: string;
  /** The thread to show, which stays until it is answered, in other processes too; null after the last. */
  current(ranking: readonly string[]): LabelRecord | null;
  /** Adds the answer. Answers about other threads are ignored, such as a form that is sent twice. */
  answer(thread: string, answer: Answer): void;
  undo(): void;
}

/** @param options.order ids of the threads without a label, in random order */
export function labelSession(options: {
  file: LabelFile;
  order: readonly string[];
  annotator: string;
  now: () => Date;
}): LabelSession {
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
    annotator,
    current(ranking) {
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
    answer(thread, answer) {
      const shown = inSight(file.records());
      if (shown?.thread !== thread) return;
      const { chosen, chance } = shown;
      add({ thread, chosen, chance, ...answer });
    },
    undo() {
      const last = lastOf(annotator, file.records());
      if (last === null) return;
      const { thread, chosen, chance } = last;
      add({ kind: 'undo', thread, chosen, chance });
      add({ kind: 'shown', thread, chosen, chance });
    },
  };
}

/** A thread that was labelled once, preferably by another annotator; null if none is due. */
function again(
  { all: given }: Answers,
  { annotator, seed, isSkipped }: { annotator: string; seed: number; isSkipped: (thread: string) => boolean },
) {
  const ofMine = given.filter((record) => record.annotator === annotator);
  const mine = ofMine.length;
  if ((mine + 1) % againEvery !== 0) return null;
  const times = new Map<string, number>();
  for (const { thread } of given) times.set(thread, (times.get(thread) ?? 0) + 1);
  const once = given.filter(
    (record) => record.class !== null && times.get(record.thread) === 1 && !isSkipped(record.thread),
  );
  const others = once.filter((record) => record.annotator !== annotator);
  const recent = new Set(ofMine.slice(-leastBetween).map(({ thread }) => thread));
  const from = others.length > 0 ? others : once.filter(({ thread }) => !recent.has(thread));
  if (from.length === 0) return null;
  const { thread } = from[Random.seeded({ seed, purpose: `asked again ${annotator} ${mine}` }).integer(from.length)];
  return { thread, chosen: 'again' as const, chance: 1 / from.length };
}
