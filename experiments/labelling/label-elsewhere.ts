import { statSync } from 'node:fs';
import { z } from 'zod';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { counted } from '../../src/counted.ts';
import { csvText } from '../../src/csv-text.ts';
import { readDelimitedFile } from '../../src/data/importers/delimited-file.ts';
import { itemsOfJson } from '../../src/data/importers/foreign-files.ts';
import { readWholeText } from '../../src/data/text-lines.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import { type Choice, nextChoice } from './choose.ts';
import type { LabelRecord } from './label-file.ts';
import type { Labelling } from './labelling.ts';

/*
 * Files of threads that are labelled elsewhere: a table for spreadsheets, and what Label Studio, Argilla and doccano import and export.
 */

/** The answer of an annotator who cannot tell the class. */
const cannotTell = "can't tell";

/**
 * Writes the next threads to label for another program and returns their number.
 * @throws InputError for a file with labels that were not read, or with something else
 */
export async function writeNext(
  path: string,
  options: { labelling: Labelling; count: number; isRandom: boolean; format: LabelFormat },
): Promise<number> {
  const { labelling, count, isRandom, format } = options;
  const { order, file, threads, task } = labelling;
  await refuseUnread(path, labelling);
  const { classOf } = file.answers();
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
  writeFileAtomically(path, textOf[format](items, [...task.labels, cannotTell]));
  return items.length;
}

/** Whoever filled in a file and asks for the next threads before it was read would lose the labels. */
async function refuseUnread(path: string, labelling: Labelling): Promise<void> {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const { all } = labelling.file.answers();
  const unread = await answersIn(path, labelling)
    .then((answers) => answers.filter((answer) => !all.some((each) => isSame(each, answer))).length)
    .catch((error: unknown) => {
      if (!(error instanceof InputError)) throw error;
      throw new InputError(`${path} is there already and cannot be read, so it is not written over: ${error.message}`);
    });
  if (unread > 0)
    throw new InputError(
      `${path} has ${counted(unread, 'label')} that ${unread === 1 ? 'was' : 'were'} not read; give --read ${quoted(path)}, too, or another file`,
    );
}

function isSame(left: Answer, right: Answer): boolean {
  return left.thread === right.thread && left.class === right.class;
}

type LabelItem = Choice & { readonly text: string };
type TextOf = (items: readonly LabelItem[], answers: readonly string[]) => string;

const json = (value: unknown) => `${JSON.stringify(value, null, 1)}\n`;

/** The files that other programs import. */
export const textOf = {
  csv(items, answers) {
    const heading = ['thread', 'class', 'chosen', 'chance', `posts (class: ${answers.join(', ')})`];
    // Spreadsheets evaluate cells that begin like a formula.
    const asText = (id: string) => id.replace(/^(?=[=+\-@\t\r])/, "'");
    const rows = items.map((item) => [asText(item.thread), '', item.chosen, String(item.chance), item.text]);
    return csvText([heading, ...rows]);
  },
  labelStudio: (items) => json(items.map((data) => ({ data }))),
  argilla: (items) =>
    json(items.map(({ thread: id, text, chosen, chance }) => ({ id, fields: { text }, metadata: { chosen, chance } }))),
  doccano: (items) => items.map((item) => `${JSON.stringify({ ...item, label: [] })}\n`).join(''),
} satisfies Record<string, TextOf>;
export type LabelFormat = keyof typeof textOf;

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
  const { file } = labelling;
  const mine = file.answers().all.filter((record) => record.annotator === annotator);
  const before = new Map(mine.map((record) => [record.thread, record.class]));
  const time = now().toISOString();
  const answers = (await answersIn(path, labelling)).filter((answer) => before.get(answer.thread) !== answer.class);
  for (const { thread, class: label, chosen, chance } of answers) {
    const kind = label === null ? ('cannot-tell' as const) : ('label' as const);
    file.append({ kind, thread, class: label, annotator, time, chosen, chance });
  }
  return answers.length;
}

/** A class, or null for "can't tell". */
type Answer = Pick<LabelRecord, 'thread' | 'class'>;

/** The answers in a file of threads. @throws InputError for an unknown thread or class */
async function answersIn(path: string, { order, task }: Labelling): Promise<(Answer & Choice)[]> {
  const ids = new Set(order);
  return (await readItems(path, task.name)).flatMap(({ place, thread, answer, chosen, chance }) => {
    const text = answer.trim();
    if (text === '') return [];
    const label = text.toLowerCase().replace('’', "'") === cannotTell ? null : text;
    const wrong = !ids.has(thread)
      ? `thread is ${JSON.stringify(thread)}, and there is no thread without a label of that id; correct the id, or remove the row`
      : label !== null && !task.labels.includes(label)
        ? `the class is ${JSON.stringify(label)}; it must be one of ${task.labels.join(', ')} or ${cannotTell}, or empty`
        : null;
    if (wrong !== null) throw new InputError(`${place}: ${wrong}`);
    return [{ thread, class: label, chosen, chance }];
  });
}

const thread = z.string();
const draw = {
  chosen: z.enum(['random', 'margin']).catch('margin'),
  // Spreadsheets write decimals with a comma in many languages.
  chance: z.preprocess((value) => Number(String(value).replace(',', '.')), z.number().positive().max(1)).catch(1),
};

const choices = z.object({ value: z.object({ choices: z.array(z.string()).default([]) }) });
const annotation = z.object({ was_cancelled: z.boolean().default(false), result: z.array(choices) });
/** Exports of Label Studio (JSON). */
const labelStudioTask = z
  .object({ data: z.object({ thread, ...draw }), annotations: z.array(annotation).default([]) })
  .transform(({ data, annotations }) => {
    const results = annotations.filter((each) => !each.was_cancelled).flatMap(({ result }) => result);
    return { ...data, answer: results.flatMap(({ value }) => value.choices).at(-1) };
  });

/** Records of Argilla's `to_json` with one question. */
const argillaRecord = z
  .object({
    id: z.string(),
    fields: z.looseObject({}),
    metadata: z.object(draw).default({ chosen: 'margin', chance: 1 }),
    responses: z.record(z.string(), z.array(z.object({ value: z.string() }))).default({}),
  })
  .transform(({ id, metadata, responses }) => {
    const answer = Object.values(responses).flat().at(-1)?.value;
    return { thread: id, ...metadata, answer };
  });

/** Exports of doccano (JSONL) and of Label Studio (JSON-MIN), which names the answer after the label. */
const flatItem = (label: string) =>
  z.looseObject({ thread, ...draw, label: z.array(z.string()).optional() }).transform((item) => {
    const answer = z.string().optional().catch(undefined).parse(item[label]);
    return { thread: item.thread, chosen: item.chosen, chance: item.chance, answer: item.label?.at(-1) ?? answer };
  });

const tableRow = z
  .object({ thread, class: z.string(), ...draw })
  .transform((row) => ({ ...row, thread: row.thread.replace(/^'(?=[=+\-@\t\r])/, ''), answer: row.class }));

/** The items of a file in any of these formats. @throws InputError for another form */
export async function readItems(path: string, label: string) {
  const isJson = /^\s*[[{]/.test(await readWholeText(path));
  const schema = isJson ? z.union([labelStudioTask, argillaRecord, flatItem(label)]) : tableRow;
  const itemOf = (value: unknown, place: string) => {
    const { data } = schema.safeParse(value);
    if (data !== undefined) return { ...data, answer: data.answer ?? '', place };
    throw new InputError(
      `${place} is no labelled thread; give a table with the columns thread and class, or an export of Label Studio (JSON or JSON-MIN), Argilla (to_json) or doccano (JSONL), of a file that \`earshot label --next\` wrote`,
    );
  };
  const items: ReturnType<typeof itemOf>[] = [];
  if (isJson) for await (const item of itemsOfJson(path, {}, itemOf)) items.push(item);
  else for await (const { value, place } of readDelimitedFile(path, {})) items.push(itemOf(value, place));
  return items;
}
