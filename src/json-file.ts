import { existsSync, readFileSync } from 'node:fs';
import * as core from 'zod/v4/core';
import { writeFileAtomically } from './atomic-file.ts';
import { diskError, notOurs } from './errors.ts';
import { jsonOrUndefined } from './json.ts';

/**
 * Writes a value as JSON, indented for people; the file is replaced whole or not at all.
 * @throws InputError if the disk refuses; Error for a value that JSON cannot hold (see `exactJson`)
 */
export function writeJsonFile(path: string, value: unknown): void {
  const exact: unknown = JSON.parse(exactJson(value, path));
  writeFileAtomically(path, `${JSON.stringify(exact, null, 2)}\n`);
}

/**
 * Reads a JSON file of this program and validates it.
 * @throws InputError, with a remedy, for a file that is missing, is not JSON or does not fit the schema
 */
export function readJsonFile<Value>(path: string, schema: core.$ZodType<Value>, remedy?: string): Value {
  return storedValue(readStoredText(path, remedy), { schema, place: path, remedy });
}

/** @throws InputError for a file that is missing or cannot be read */
function readStoredText(path: string, remedy?: string): string {
  if (!existsSync(path)) throw notOurs(path, 'it is missing', remedy);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw diskError(error, { what: `read ${path}` });
  }
}

/** Parses a JSON text that this program wrote at `place`. @throws InputError if it does not fit the schema */
export function storedValue<Value>(
  text: string,
  { schema, place, remedy }: { schema: core.$ZodType<Value>; place: string; remedy?: string | undefined },
): Value {
  const json = jsonOrUndefined(text);
  if (json === undefined) throw notOurs(place, `it is not JSON: ${text.slice(0, 60)}`, remedy);
  const parsed = core.safeParse(schema, json);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  throw notOurs(place, problems.slice(0, 3).join('; '), remedy);
}

/* JSON Lines of Earshot itself, one value per line. `thread-file.ts` reads foreign ones, such as threads. */

/** Writes one value per line, all or none. @throws InputError if the disk refuses */
export function writeJsonLines(path: string, values: readonly unknown[]): void {
  writeFileAtomically(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

/** @throws InputError that names the line, for a missing file or a line that does not fit the schema */
export function readJsonLines<Value>(path: string, schema: core.$ZodType<Value>): Value[] {
  return readStoredText(path)
    .split('\n')
    .flatMap((text, index) => (text === '' ? [] : [storedLine(text, { path, number: index + 1, schema })]));
}

/** Parses one line. @throws InputError that names the line if it does not fit the schema */
export function storedLine<Value>(
  text: string,
  { path, number, schema, remedy }: { path: string; number: number; schema: core.$ZodType<Value>; remedy?: string },
): Value {
  return storedValue(text, { schema, place: `${path}, line ${number},`, remedy });
}

/**
 * JSON that reads back as exactly the same value. Unlike `JSON.stringify` it keeps −0 and refuses values that JSON
 * would change silently (NaN to null, a Map to {}, a typed array to an object). An undefined property is left out.
 * @param path the name of the value in errors
 * @throws Error that names the place of a value that JSON cannot hold
 */
export function exactJson(value: unknown, path = '$'): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Error(`${path} is ${value}, which JSON cannot hold; store null or a string`);
    return Object.is(value, -0) ? '-0' : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item, index) => exactJson(item, `${path}[${index}]`)).join(',')}]`;
  if (isPlainObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${exactJson(member, `${path}.${key}`)}`).join(',')}}`;
  }
  const typeName = typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value;
  throw new Error(`${path} is ${typeName}, which JSON cannot hold; use plain objects, arrays, strings and numbers`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const shownAtMost = 8;

/** Lists differences of two JSON values as `path (there x, now y)`, at most eight; empty for equal values. */
export function differences(there: unknown, now: unknown): string[] {
  const places = [...walk(there, now, '')];
  return places.length <= shownAtMost
    ? places
    : [...places.slice(0, shownAtMost), `and ${places.length - shownAtMost} more`];
}

function* walk(there: unknown, now: unknown, path: string): Generator<string> {
  if (isContainer(there) && isContainer(now) && Array.isArray(there) === Array.isArray(now)) {
    for (const key of new Set([...Object.keys(there), ...Object.keys(now)]))
      yield* walk(valueAt(there, key), valueAt(now, key), path === '' ? key : `${path}.${key}`);
  } else if (there !== now) {
    yield `${path} (there ${show(there)}, now ${show(now)})`;
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function valueAt(container: object, key: string): unknown {
  return Object.hasOwn(container, key) ? Reflect.get(container, key) : undefined;
}

function show(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
