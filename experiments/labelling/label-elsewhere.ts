import { z } from 'zod';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { csvText } from '../../src/csv-text.ts';
import { readDelimitedFile } from '../../src/data/importers/delimited-file.ts';
import { readWholeText } from '../../src/data/text-lines.ts';
import { parseJson } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { type Choice, nextChoice } from './choose.ts';
import type { LabelRecord } from './label-file.ts';
import type { Labelling } from './labelling.ts';
import { answersOf } from './session.ts';

/*
 * Files of threads that are labelled elsewhere: a table for spreadsheets, and what Label Studio, Argilla and doccano import and export.
 */

/** The answer of an annotator who cannot tell the class. */
const cannotTell = "can't tell";

/** Writes the next threads to label for another program and returns their number. */
export async function writeNext(
  path: string,
  options: { labelling: Labelling; count: number; isRandom: boolean; format: LabelFormat },
): Promise<number> {
  const { labelling, count, isRandom, format } = options;
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

export type LabelFormat = 'csv' | 'labelStudio' | 'argilla' | 'doccano';

export type LabelItem = Choice & { readonly text: string };

interface FilledItem {
  readonly place: string;
  readonly thread: string;
  readonly answer: string;
  readonly chosen: unknown;
  readonly chance: unknown;
}

export function textOfItems(
  items: readonly LabelItem[],
  { format, answers }: { format: LabelFormat; answers: readonly string[] },
): string {
  if (format === 'csv') {
    const heading = ['thread', 'class', 'chosen', 'chance', `posts (class: ${answers.join(', ')})`];
    const rows = items.map((item) => [asText(item.thread), '', item.chosen, String(item.chance), item.text]);
    return csvText([heading, ...rows]);
  }
  if (format === 'doccano') return items.map((item) => `${JSON.stringify({ ...item, label: [] })}\n`).join('');
  const made = items.map((item) => {
    const { thread: id, text, chosen, chance } = item;
    return format === 'labelStudio' ? { data: item } : { id, fields: { text }, metadata: { chosen, chance } };
  });
  return `${JSON.stringify(made, null, 1)}\n`;
}

/** Spreadsheets evaluate cells that begin like a formula. */
function asText(id: string): string {
  return /^[=+\-@\t\r]/.test(id) ? `'${id}` : id;
}

const facts = { chosen: z.unknown().optional(), chance: z.unknown().optional() };
const choices = z.object({ value: z.object({ choices: z.array(z.string()).optional() }) });
const annotation = z.object({ was_cancelled: z.boolean().optional(), result: z.array(choices) });
/** Exports of Label Studio (JSON). */
const task = z
  .object({ data: z.object({ thread: z.string(), ...facts }), annotations: z.array(annotation).default([]) })
  .transform(({ data, annotations }) => {
    const results = annotations.filter((each) => each.was_cancelled !== true).flatMap(({ result }) => result);
    return { ...data, answer: results.flatMap(({ value }) => value.choices ?? []).at(-1) };
  });
/** Records of Argilla's `to_json` with one question. */
const record = z
  .object({
    id: z.string(),
    metadata: z.object(facts).default({}),
    responses: z.record(z.string(), z.array(z.object({ value: z.string() }))).default({}),
  })
  .extend({ fields: z.unknown() })
  .transform(({ id, metadata, responses }) => {
    const values = Object.values(responses).flat();
    return { thread: id, ...metadata, answer: values.at(-1)?.value };
  });
/** Exports of doccano (JSONL) and of Label Studio (JSON-MIN), which names the answer after the label. */
const flatItem = (label: string) =>
  z.looseObject({ thread: z.string(), ...facts, label: z.array(z.string()).optional() }).transform((item) => {
    const answer = z.string().optional().catch(undefined).parse(item[label]);
    return { thread: item.thread, chosen: item.chosen, chance: item.chance, answer: item.label?.at(-1) ?? answer };
  });

/** The items of a file in any of these formats. @throws InputError for another form */
export async function readItems(path: string, label: string): Promise<FilledItem[]> {
  const text = await readWholeText(path);
  if (!/^\s*[[{]/.test(text)) return itemsOfTable(path);
  const values = /^\s*\[/.test(text)
    ? z.array(z.unknown()).parse(parseJson(text, path))
    : text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseJson(line, `${path}:${index + 1}`)]));
  return values.map((value, index) => {
    const place = `${path}, item ${index + 1}`;
    const parsed = z.union([task, record, flatItem(label)]).safeParse(value);
    if (parsed.success) return { chosen: null, chance: null, ...parsed.data, place, answer: parsed.data.answer ?? '' };
    throw new InputError(
      `${place} is no labelled thread; give an export of Label Studio (JSON or JSON-MIN), Argilla (to_json) or doccano (JSONL) of a file that \`earshot label --next\` wrote`,
    );
  });
}

async function itemsOfTable(path: string): Promise<FilledItem[]> {
  const items: FilledItem[] = [];
  for await (const { place, value } of readDelimitedFile(path, {})) {
    const { thread, class: answer, chosen, chance } = value;
    if (thread === undefined || answer === undefined)
      throw new InputError(
        `${path} has no columns thread and class; give a table that \`earshot label --next\` wrote, with the class filled in`,
      );
    items.push({ place, thread: thread.replace(/^'(?=[=+\-@\t\r])/, ''), answer, chosen, chance });
  }
  return items;
}
