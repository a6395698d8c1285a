import { closeSync, fsyncSync, openSync, readFileSync, readSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../src/atomic-file.ts';
import { mostClasses } from '../../src/data/classes-of-labels.ts';
import { diskError, InputError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';

/*
 * Labels as people gave them: a file of JSON Lines that only grows. Its first line says which label it holds, each other line is one
 * record. Processes may add to it at the same time, because every record is one write at the end of the file.
 */

const headSchema = z.strictObject({
  label: z.string().min(1),
  classes: z.array(z.string().min(1)).min(2).max(mostClasses),
  seed: z.int().describe('of the order by chance'),
});
export type LabelHead = z.infer<typeof headSchema>;

const recordSchema = z.strictObject({
  kind: z.enum(['shown', 'label', 'cannot-tell', 'skip', 'undo']),
  thread: z.string(),
  class: z.string().nullable().default(null).describe('of a label'),
  annotator: z.string().min(1),
  time: z.iso.datetime(),
  chosen: z
    .enum(['random', 'margin', 'again'])
    .describe('how the thread was chosen; again: to see whether people agree'),
  chance: z.number().describe('of this thread in the draw that chose it'),
});
export type LabelRecord = z.infer<typeof recordSchema>;

export interface LabelFile extends LabelHead {
  readonly path: string;
  /** All records so far, including those of other processes. */
  records(): readonly LabelRecord[];
  /** Appends a record and flushes it, unless it only says which thread is shown. */
  append(record: LabelRecord): void;
}

/**
 * Opens or creates a label file.
 * @param expected its content, if known
 * @throws InputError for another label or other classes, or a new file without classes
 */
export function openLabelFile(path: string, expected: Partial<LabelHead>): LabelFile {
  const head = headOf(path) ?? newHead(path, expected);
  for (const key of ['label', 'classes'] as const)
    if (expected[key] !== undefined && String(expected[key]) !== String(head[key]))
      throw new InputError(
        `${path} holds labels of ${head.label} with the classes ${head.classes.join(', ')}, and ${key} is to be ${String(expected[key])}; give another file with --labels`,
      );
  let read: { size: number; records: readonly LabelRecord[] } = { size: -1, records: [] };
  return {
    ...head,
    path,
    records() {
      const { size } = statSync(path);
      if (size !== read.size) read = { size, records: recordsOf(path, head) };
      return read.records;
    },
    append: (record) => appendLine(path, record, { isSynced: record.kind !== 'shown' }),
  };
}

function headOf(path: string): LabelHead | null {
  const [first] = linesOf(path);
  if (first === undefined) return null;
  const parsed = headSchema.safeParse(jsonOrUndefined(first));
  if (parsed.success) return parsed.data;
  throw new InputError(
    `${path}:1 does not say which label the file holds; give the file that \`earshot label\` wrote, or another name with --labels`,
  );
}

function newHead(path: string, { label, classes, seed = 1 }: Partial<LabelHead>): LabelHead {
  if (label === undefined || classes === undefined)
    throw new InputError(
      `no thread has a label called ${JSON.stringify(label)}, so its classes are not known; give them, such as --classes resolved,escalated`,
    );
  const checked = headSchema.safeParse({ label, classes, seed });
  if (!checked.success || new Set(classes).size < classes.length)
    throw new InputError(
      `the classes ${classes.join(', ')} cannot be labelled: a label has 2 to ${mostClasses} different ones; correct --classes`,
    );
  makeFolder(dirname(path));
  try {
    writeFileSync(path, `${JSON.stringify(checked.data)}\n`, { flag: 'wx', flush: true });
  } catch (error) {
    // Another process has begun it.
    const head = error instanceof Error && 'code' in error && error.code === 'EEXIST' ? headOf(path) : null;
    if (head !== null) return head;
    throw diskError(error, { what: `write the labels ${path}` });
  }
  return checked.data;
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw diskError(error, { what: `read the labels ${path}` });
  }
}

function recordsOf(path: string, { classes }: LabelHead): LabelRecord[] {
  const [, ...lines] = linesOf(path);
  return lines.flatMap((line, index) => {
    const value = jsonOrUndefined(line);
    // A crash cut it off, and nobody was told that it is there.
    if (value === undefined) return [];
    const parsed = recordSchema.safeParse(value);
    const isOfClasses = parsed.data?.kind !== 'label' || classes.includes(parsed.data.class ?? '');
    if (parsed.success && isOfClasses) return [parsed.data];
    throw new InputError(
      `${path}:${index + 2} is no label of ${classes.join(', ')}: ${line.slice(0, 200)}. Correct the line, or remove it`,
    );
  });
}

function appendLine(path: string, record: LabelRecord, { isSynced }: { isSynced: boolean }): void {
  try {
    const file = openSync(path, 'a+');
    try {
      const { size } = statSync(path);
      const last = Buffer.alloc(1);
      if (size > 0) readSync(file, last, 0, 1, size - 1);
      writeSync(file, `${last.toString() === '\n' ? '' : '\n'}${JSON.stringify(record)}\n`);
      if (isSynced) fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw diskError(error, { what: `write a label to ${path}` });
  }
}
