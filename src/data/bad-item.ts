import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { InputError } from '../errors.ts';

export interface SkipOptions {
  /** Whether bad items are left out, instead of failing at the first one. */
  readonly skipInvalid?: boolean;
  /** Called for each item that is left out: `skipped threads.jsonl:3 …`. */
  readonly onSkipped?: ((line: string) => void) | undefined;
}

/** An item of foreign data that cannot be used. `orSkip` decides whether it ends the reading or is only counted. */
export class BadItemError extends InputError {}

/**
 * The refusal of a foreign value, which is shown shortened.
 * @param at.place file, line and path within it, such as `threads.jsonl:3 posts.0.time`
 */
export function badItem(value: unknown, { place, reason }: { place: string; reason: string }): BadItemError {
  return new BadItemError(`${place}: ${reason}; found ${shortened(value)}`);
}

/**
 * Runs `parse` on one item, at once if it is synchronous: a promise per row of a long table takes longer than its
 * parsing.
 * @returns the result of `parse`; null for a bad item that is skipped, after `onSkipped` was called
 * @throws InputError for a bad item that is not skipped; any other error as it is
 */
export function orSkip<T>(options: SkipOptions, parse: () => Promise<T>): Promise<T | null>;
export function orSkip<T>(options: SkipOptions, parse: () => T): T | null;
export function orSkip<T>(options: SkipOptions, parse: () => T | Promise<T>): T | null | Promise<T | null> {
  try {
    const parsed = parse();
    return parsed instanceof Promise ? parsed.catch((error: unknown) => skip(error, options)) : parsed;
  } catch (error) {
    return skip(error, options);
  }
}

function skip(error: unknown, options: SkipOptions): null {
  if (!(error instanceof BadItemError)) throw error;
  if (!options.skipInvalid)
    throw new InputError(
      `${error.message}${error.message.endsWith('?') ? '' : '.'} Fix it, or leave such items out with --skip-invalid (in an experiment: data.skipInvalid: true)`,
    );
  options.onSkipped?.(`skipped ${error.message}`);
  return null;
}

/** Parses each item; bad ones as in `orSkip`, and null is left out. */
export async function* eachOrSkip<From, To>(
  items: Iterable<From> | AsyncIterable<From>,
  options: SkipOptions,
  parse: (item: From) => To | null | Promise<To | null>,
): AsyncGenerator<To> {
  for await (const item of items) {
    const parsed = orSkip(options, () => parse(item));
    const done = parsed instanceof Promise ? await parsed : parsed;
    if (done !== null) yield done;
  }
}

/** The refusal of files that are not of a format. */
export function unexpected({ name, expects }: { name: string; expects: string }, problem: string): InputError {
  return new InputError(`${problem}; ${name} expects ${expects}`);
}

/** A value as JSON on one line, cut to 80 characters so that an error stays readable. */
export function shortened(value: unknown): string {
  const text = jsonOf(value) ?? 'nothing';
  return text.length <= 80 ? text : `${text.slice(0, 77)}… (${text.length} characters)`;
}

function jsonOf(value: unknown): string | undefined {
  try {
    // JSON has no big integers.
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part));
  } catch {
    return 'a value that is nested too deeply to show';
  }
}

/** Validates foreign data at `place`. @throws BadItemError with the path, value and reason of the first problem */
export function parseItem<Schema extends z.ZodType>(
  schema: Schema,
  input: { value: unknown; place: string },
): z.output<Schema> {
  const result = schema.safeParse(input.value);
  if (result.success) return result.data;
  const { path, value, reason } = firstIssue(result.error, input.value);
  throw badItem(value, { place: path === '' ? input.place : `${input.place} ${path}`, reason });
}

/**
 * The first problem of a schema, with the value at its path. Unknown keys come first, the outermost one before others:
 * if `tweets` replaces `posts`, that helps more than that `posts` is missing.
 */
function firstIssue(error: z.ZodError, input: unknown): { path: string; value: unknown; reason: string } {
  const [unknown] = error.issues
    .filter(({ code }) => code === 'unrecognized_keys')
    .sort((a, b) => a.path.length - b.path.length);
  const issue = unknown ?? error.issues[0];
  const unknownKeys = issue.code === 'unrecognized_keys' ? issue.keys : [];
  const path = [...issue.path, ...unknownKeys.slice(0, 1)];
  const others = error.issues.length - 1 + Math.max(0, unknownKeys.length - 1);
  const more = others > 0 ? ` (and ${others} more in this item)` : '';
  let value: unknown = input;
  for (const key of path) value = isRecord(value) ? Reflect.get(value, key) : undefined;
  // The value is shown anyway, so zod's description of it can go.
  const message = issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '');
  return { path: path.map(String).join('.'), value, reason: `${message}${more}` };
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * The `error` option of a strict schema: names an unknown key and the nearest known one.
 * @param options.nearMisses common words in people's files, each with the key to write instead, which no spelling
 *   distance would find
 */
export function unknownKeyError({
  keys,
  nearMisses = {},
}: {
  readonly keys: readonly string[];
  readonly nearMisses?: Readonly<Record<string, string>>;
}): z.core.$ZodErrorMap {
  return (issue) => {
    if (issue.code !== 'unrecognized_keys') return undefined;
    const spelling = issue.keys[0].toLowerCase().replace(/[^a-z]/g, '');
    const nearest = closest(spelling, [...keys]);
    const isNear = distance(spelling, nearest.toLowerCase()) <= Math.max(1, nearest.length / 3);
    const meant = Object.hasOwn(nearMisses, spelling) ? nearMisses[spelling] : isNear ? nearest : null;
    return `unknown key, ${meant === null ? `known are ${keys.join(', ')}` : `did you mean ${meant}?`}`;
  };
}
