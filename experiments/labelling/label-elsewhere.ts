import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { answersOf } from './answers.ts';
import { nextChoice } from './choose.ts';
import type { LabelRecord } from './label-file.ts';
import { type LabelFormat, type LabelItem, readItems, textOfItems } from './label-formats.ts';
import type { Labelling } from './labelling.ts';

/** The answer of an annotator who cannot tell the class. */
const cannotTell = "can't tell";

/** Writes the next threads to label for another program and returns their number. */
export async function writeNext(
  path: string,
  {
    labelling,
    count,
    isRandom,
    format,
  }: { labelling: Labelling; count: number; isRandom: boolean; format: LabelFormat },
): Promise<number> {
  const { order, file, threads, task } = labelling;
  const { classOf } = answersOf(file.records());
  const ranking = isRandom ? [] : ((await labelling.learn())?.ranking ?? []);
  const items: LabelItem[] = [];
  let open = order.filter((id) => !classOf.has(id));
  while (items.length < count) {
    const choice = nextChoice({ open, answered: classOf.size + items.length, ranking });
    if (choice === null) break;
    const posts = threads.get(choice.thread)?.posts ?? [];
    const texts = posts.map(({ author, time, text }, index) => `${index + 1}. ${author ?? ''} ${time ?? ''}\n${text}`);
    items.push({ ...choice, text: texts.join('\n\n') });
    open = open.filter((id) => id !== choice.thread);
  }
  writeFileAtomically(path, textOfItems(items, { format, answers: [...task.labels, cannotTell] }));
  return items.length;
}

/**
 * Reads labels back from such a file. Labels that this annotator has already given are skipped, so a file may be read
 * twice.
 * @returns the number of new labels
 * @throws InputError for an unknown thread or class; no label is added then
 */
export async function readLabels(
  path: string,
  { labelling, annotator, now }: { labelling: Labelling; annotator: string; now: () => Date },
): Promise<number> {
  const { file, task } = labelling;
  const ids = new Set(labelling.order);
  const before = new Map(
    answersOf(file.records()).all.flatMap((record) =>
      record.annotator === annotator ? [[record.thread, record.class]] : [],
    ),
  );
  const records: LabelRecord[] = [];
  for (const { place, thread, answer, chosen, chance } of await readItems(path, task.name)) {
    const text = answer.trim();
    if (text === '') continue;
    const label = text.toLowerCase().replace('’', "'") === cannotTell ? null : text;
    if (!ids.has(thread))
      throw new InputError(
        `${place}: thread is ${JSON.stringify(thread)}, and there is no thread without a label of that id; correct the id, or remove the row`,
      );
    if (label !== null && !task.labels.includes(label))
      throw new InputError(
        `${place}: the class is ${JSON.stringify(label)}; it must be one of ${task.labels.join(', ')} or ${cannotTell}, or empty`,
      );
    if (before.get(thread) === label) continue;
    const [kind, time] = [label === null ? ('cannot-tell' as const) : ('label' as const), now().toISOString()];
    const draw = {
      chosen: chosen === 'random' ? ('random' as const) : ('margin' as const),
      chance: Number(chance) || 1,
    };
    records.push({ kind, thread, class: label, annotator, time, ...draw });
  }
  for (const record of records) file.append(record);
  return records.length;
}
