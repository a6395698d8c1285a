import { statSync } from 'node:fs';
import { z } from 'zod';
import { readLines, type TextLine } from '../../src/data/text-lines.ts';
import { InputError } from '../../src/errors.ts';
import { storedLine } from '../../src/json-file.ts';
import { writeText } from '../../src/write-text.ts';
import { type AnnotationRow, annotationRowSchema, keyOf } from './annotation-row.ts';

const ROWS_A_BATCH = 500;

const lineSchema = annotationRowSchema.extend({ key: z.string(), date: z.iso.datetime({ offset: true }) });

interface ExportOptions {
  readonly path: string;
  readonly keys: readonly string[];
  rowsOf(keys: readonly string[]): ReadonlyMap<string, unknown>;
}

interface ImportOptions {
  readonly path: string;
  /** Stores rows and returns how many were new. */
  add(rows: readonly (AnnotationRow & { date: string })[]): number;
}

export async function exportAnnotations(options: ExportOptions): Promise<number> {
  await writeText(options.path, { texts: exportedLines(options), what: 'annotations' });
  return options.keys.length;
}

function* exportedLines(options: ExportOptions): Generator<string> {
  for (let start = 0; start < options.keys.length; start += ROWS_A_BATCH) {
    const batch = options.keys.slice(start, start + ROWS_A_BATCH);
    const rows = options.rowsOf(batch);
    yield batch.map((key) => `${JSON.stringify(rows.get(key))}\n`).join('');
  }
}

export async function importAnnotations(options: ImportOptions): Promise<{ read: number; added: number }> {
  const { path } = options;
  let read = 0;
  let added = 0;
  const batch: (AnnotationRow & { date: string })[] = [];
  // What an empty store exports.
  if (statSync(path, { throwIfNoEntry: false })?.size === 0) return { read, added };
  for await (const line of readLines(path)) {
    read++;
    batch.push(parseLine(line, path));
    if (batch.length === ROWS_A_BATCH) added += options.add(batch.splice(0));
  }
  added += options.add(batch);
  return { read, added };
}

function parseLine({ text, number }: TextLine, path: string): AnnotationRow & { date: string } {
  const { key, ...row } = storedLine(text, { path, number, schema: lineSchema, remedy: 'export the store again' });
  const expected = keyOf(row.request);
  if (key !== expected)
    throw new InputError(
      `${path}:${number}: the key ${key} does not belong to its request, whose key is ${expected}; the line was changed after the export`,
    );
  return row;
}
