import { groupBy } from '../../src/data/group-by.ts';
import { Random } from '../../src/tensor/random.ts';
import { nextChoice } from './choose.ts';
import { type Answers, type LabelFile, type LabelRecord, lastOf } from './label-file.ts';

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
  const add = (record: Pick<LabelRecord, 'kind' | 'thread' | 'chosen' | 'chance'> & Partial<LabelRecord>) =>
    file.append({ class: null, annotator, time: now().toISOString(), ...record });
  const inSight = () => {
    const shown = file.answers().shownTo.get(annotator);
    return shown !== undefined && inFile.has(shown.thread) ? shown : null;
  };
  return {
    /** The thread to show, which stays until it is answered, in other processes too; null after the last. */
    current(ranking: readonly string[]): LabelRecord | null {
      for (;;) {
        const answers = file.answers();
        const { classOf, shownTo, standing } = answers;
        // The first in the file keeps a thread: after adding a record, a process sees all records before it.
        const holders = new Map<string, LabelRecord>();
        for (const record of shownTo.values())
          if (Date.parse(record.time) > now().getTime() - leaseMs && !holders.has(record.thread))
            holders.set(record.thread, record);
        const shown = inSight();
        const isMine =
          shown?.kind === 'undo' ||
          shown?.chosen === 'again' ||
          (shown !== null && !classOf.has(shown.thread) && (holders.get(shown.thread) ?? shown) === shown);
        if (isMine) return shown;
        const skipped = standing.filter((record) => record.kind === 'skip' && record.annotator === annotator);
        const isSkipped = new Set(skipped.map(({ thread }) => thread));
        const open = order.filter((id) => !classOf.has(id) && !holders.has(id) && !isSkipped.has(id));
        const again = askedAgain(answers, { annotator, seed: file.seed, isSkipped });
        const choice = again ?? nextChoice({ open, answered: classOf.size, ranking });
        if (choice === null) return null;
        add({ kind: 'shown', ...choice });
      }
    },
    /** Adds the answer. Answers about other threads are ignored, such as a form that is sent twice. */
    answer(thread: string, answer: Answer): void {
      const shown = inSight();
      if (shown?.thread !== thread) return;
      const { chosen, chance } = shown;
      add({ thread, chosen, chance, ...answer });
    },
    /** Takes the last answer back and shows its thread again. */
    undo(): void {
      const last = lastOf(annotator, file.answers());
      if (last === null) return;
      const { thread, chosen, chance } = last;
      add({ kind: 'undo', thread, chosen, chance });
    },
  };
}

/** A thread that was labelled once, preferably by another annotator; null if none is due. */
function askedAgain(
  { all }: Answers,
  { annotator, seed, isSkipped }: { annotator: string; seed: number; isSkipped: ReadonlySet<string> },
) {
  const mine = all.filter((record) => record.annotator === annotator);
  if ((mine.length + 1) % againEvery !== 0) return null;
  const recent = new Set(mine.slice(-leastBetween).map(({ thread }) => thread));
  const once = [...groupBy(all, ({ thread }) => thread).values()]
    .filter(([{ thread, class: label }, second]) => second === undefined && label !== null && !isSkipped.has(thread))
    .map(([record]) => record);
  const others = once.filter((record) => record.annotator !== annotator);
  const from = others.length > 0 ? others : once.filter(({ thread }) => !recent.has(thread));
  if (from.length === 0) return null;
  const random = Random.seeded({ seed, purpose: `asked again ${annotator} ${mine.length}` });
  const { thread } = from[random.integer(from.length)];
  return { thread, chosen: 'again' as const, chance: 1 / from.length };
}
