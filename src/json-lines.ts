import type { z } from 'zod';
import { writeFileAtomically } from './atomic-file.ts';
import { readStoredText, storedValue } from './json-file.ts';

/*
 * JSON Lines that Earshot itself wrote: one value a line. Foreign ones, such as threads, are read by `thread-file.ts`.
 */

/** Writes all values, or leaves the file as it was. @throws InputError where the disk refuses */
export function writeJsonLines(path: string, values: readonly unknown[]): void {
  writeFileAtomically(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

/** @throws InputError that names the line, for a file that is missing or a line that is not what the schema expects */
export function readJsonLines<Value>(path: string, schema: z.ZodType<Value>): Value[] {
  return readStoredText(path)
    .split('\n')
    .flatMap((text, index) => (text === '' ? [] : [storedLine(text, { path, number: index + 1, schema })]));
}

/**
 * The value of one line.
 * @throws InputError that names the line where it is not what the schema expects
 */
export function storedLine<Value>(
  text: string,
  { path, number, schema, remedy }: { path: string; number: number; schema: z.ZodType<Value>; remedy?: string },
): Value {
  return storedValue(text, { schema, place: `${path}, line ${number},`, remedy });
}
