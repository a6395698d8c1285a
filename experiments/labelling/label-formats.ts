import { z } from 'zod';
import { csvText } from '../../src/csv-text.ts';
import { readDelimitedFile } from '../../src/data/importers/delimited-file.ts';
import { readWholeText } from '../../src/data/text-lines.ts';
import { parseJson } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import type { Choice } from './choose.ts';

/*
 * Files of threads that are labelled elsewhere: a table for spreadsheets, and what Label Studio, Argilla and doccano import and export.
 */

export const labelFormats = ['csv', 'label-studio', 'argilla', 'doccano'] as const;
export type LabelFormat = (typeof labelFormats)[number];

export type LabelItem = Choice & { readonly text: string };

export interface FilledItem {
  readonly place: string;
  readonly thread: string;
  readonly answer: string;
  readonly chosen: unknown;
  readonly chance: unknown;
}

export function textOfItems(
  items: readonly LabelItem[],
  of: { format: LabelFormat; answers: readonly string[] },
): string {
  const { format, answers } = of;
  if (format === 'csv') {
    const heading = ['thread', 'class', 'chosen', 'chance', `posts (class: ${answers.join(', ')})`];
    const rows = items.map((item) => [asText(item.thread), '', item.chosen, String(item.chance), item.text]);
    return csvText([heading, ...rows]);
  }
  if (format === 'doccano') return items.map((item) => `${JSON.stringify({ ...item, label: [] })}\n`).join('');
  const made = items.map((item) => {
    const { thread: id, text, chosen, chance } = item;
    return format === 'label-studio' ? { data: item } : { id, fields: { text }, metadata: { chosen, chance } };
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
