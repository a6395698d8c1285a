import { writeFileAtomically } from '../../src/atomic-file.ts';
import { csvText } from '../../src/csv-text.ts';
import { readDelimitedFile } from '../../src/data/importers/delimited-file.ts';
import { InputError } from '../../src/errors.ts';
import { answersOf } from './answers.ts';
import { type Choice, nextChoice } from './choose.ts';
import type { LabelRecord } from './label-file.ts';
import type { Labelling } from './labelling.ts';

/*
 * Threads that are labelled elsewhere: in a table with a row for each, whose column `class` is filled in by hand.
 */

/** What stands in the place of a class where somebody cannot tell. */
const cannotTell = "can't tell";

/**
 * Writes the threads to label next.
 * @returns how many there are
 */
export async function chosenTable(
  path: string,
  { labelling, count, isRandom }: { labelling: Labelling; count: number; isRandom: boolean },
): Promise<number> {
  const { order, file, threads, task } = labelling;
  const { classOf } = answersOf(file.records());
  const ranking = isRandom ? [] : ((await labelling.learn())?.ranking ?? []);
  const choices: Choice[] = [];
  let open = order.filter((id) => !classOf.has(id));
  while (choices.length < count) {
    const choice = nextChoice({ open, answered: classOf.size + choices.length, ranking });
    if (choice === null) break;
    choices.push(choice);
    open = open.filter((id) => id !== choice.thread);
  }
  const rows = choices.map(({ thread, chosen, chance }) => {
    const posts = threads.get(thread)?.posts ?? [];
    const text = posts.map((post, index) => `${index + 1}. ${post.author ?? ''} ${post.time ?? ''}\n${post.text}`);
    return [asText(thread), '', chosen, String(chance), text.join('\n\n')];
  });
  const heading = ['thread', 'class', 'chosen', 'chance', `posts (class: ${task.labels.join(', ')}, ${cannotTell})`];
  writeFileAtomically(path, csvText([heading, ...rows]));
  return choices.length;
}

/** Spreadsheets compute what begins like a formula. */
function asText(id: string): string {
  return /^[=+\-@\t\r]/.test(id) ? `'${id}` : id;
}

/**
 * Adds the labels of a table. Those that this annotator has given before are left out, so a table may be read again.
 * @returns how many were added
 * @throws InputError for a thread or a class that there is not; nothing is added then
 */
export async function readTable(
  path: string,
  { labelling, annotator, now }: { labelling: Labelling; annotator: string; now: () => Date },
): Promise<number> {
  const { file, task } = labelling;
  const ids = new Set(labelling.order);
  const before = new Map(
    answersOf(file.records()).given.flatMap((own) => (own.annotator === annotator ? [[own.thread, own.class]] : [])),
  );
  const records: LabelRecord[] = [];
  for await (const { place, value } of readDelimitedFile(path, {})) {
    if (value.thread === undefined || value.class === undefined)
      throw new InputError(
        `${path} has no columns thread and class; give a table that \`earshot label --next\` wrote, with the class filled in`,
      );
    const own = value.class.trim();
    if (own === '') continue;
    const thread = ids.has(value.thread) ? value.thread : value.thread.replace(/^'/, '');
    const isTold = own.toLowerCase().replace('’', "'") !== cannotTell;
    if (!ids.has(thread))
      throw new InputError(
        `${place} thread is ${JSON.stringify(value.thread)}, and there is no thread without a label of that id; correct the id, or remove the row`,
      );
    if (isTold && !task.labels.includes(own))
      throw new InputError(
        `${place} class is ${JSON.stringify(own)}; it must be one of ${task.labels.join(', ')} or ${cannotTell}, or empty`,
      );
    if (before.get(thread) === (isTold ? own : null)) continue;
    records.push({
      kind: isTold ? 'label' : 'cannot-tell',
      thread,
      class: isTold ? own : null,
      annotator,
      time: now().toISOString(),
      chosen: value.chosen === 'random' ? 'random' : 'margin',
      chance: Number(value.chance) || 1,
    });
  }
  for (const record of records) file.append(record);
  return records.length;
}
