import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
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
  const { path, keys } = options;
  const unfinished = `${path}.part-${process.pid}`;
  try {
    const compressed = path.endsWith('.gz') ? createGzip() : new PassThrough();
    await pipeline(Readable.from(exportedLines(options)), compressed, createWriteStream(unfinished));
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    if (isFileError(error)) throw new InputError(`cannot write ${path}: ${error.message}`, { cause: error });
    throw error;
  }
  return keys.length;
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
  const file = createReadStream(path);
  const gunzip = path.endsWith('.gz') ? createGunzip() : null;
  if (gunzip !== null) {
    file.on('error', (error) => gunzip.destroy(error));
    file.pipe(gunzip);
  }
  try {
    for await (const { line, number } of linesOf(gunzip ?? file)) {
      if (line.trim() === '') continue;
      read++;
      batch.push(parseLine(line, `${path}:${number}`));
      if (batch.length === ROWS_A_BATCH) added += options.add(batch.splice(0));
    }
    added += options.add(batch);
  } catch (error) {
    if (isFileError(error)) throw new InputError(`cannot read ${path}: ${error.message}`, { cause: error });
    throw error;
  } finally {
    file.destroy();
  }
  return { read, added };
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ line: string; number: number }> {
  const decoder = new TextDecoder();
  let rest = '';
  let number = 0;
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield { line, number: ++number };
  }
  yield { line: rest + decoder.decode(), number: number + 1 };
}

function parseLine(line: string, place: string): AnnotationRow & { date: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new InputError(`${place} is not a line of JSON: ${line.slice(0, 80)}`);
  }
  const parsed = lineSchema.safeParse(value);
  if (!parsed.success) throw new InputError(`${place} is not an annotation:\n${z.prettifyError(parsed.error)}`);
  const { key, ...row } = parsed.data;
  const expected = keyOf(row.request);
  if (key !== expected)
    throw new InputError(
      `${place}: the key ${key} does not belong to its request, whose key is ${expected}; the line was changed after the export`,
    );
  return row;
}

function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && !(error instanceof InputError);
}
