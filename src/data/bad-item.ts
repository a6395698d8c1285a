import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { InputError } from '../errors.ts';

/** One thing in foreign data that cannot be used. */
export interface BadItem {
  /** File, line and path within it, such as `threads.jsonl:3 posts.0.time`. */
  readonly place: string;
  /** What was seen there, shortened. */
  readonly value: string;
  /** Why that is wrong. */
  readonly reason: string;
}

/** What to do with a bad item. */
export interface SkipOptions {
  /** Leave bad items out and continue, instead of failing at the first one. */
  readonly skipInvalid?: boolean;
  /** Told of each item left out: `skipped threads.jsonl:3 …`. */
  readonly onSkipped?: ((line: string) => void) | undefined;
}

/** Thrown by code that parses foreign data. `orSkip` decides whether it ends the reading or is only counted. */
export class BadItemError extends Error {
  override readonly name = 'BadItemError';
  readonly item: BadItem;

  constructor(item: BadItem) {
    super(`${item.place}: ${item.reason}; found ${item.value}`);
    this.item = item;
  }
}

/**
 * Runs `parse` on one item.
 * @returns what `parse` returned; null for a bad item that the options say to skip, after `onSkipped` was told of it
 * @throws InputError for a bad item that is not to be skipped; any other error as it came
 */
export async function orSkip<T>(options: SkipOptions, parse: () => T | Promise<T>): Promise<T | null> {
  try {
    return await parse();
  } catch (error) {
    return skipped(error, options);
  }
}

/** `orSkip` for what never waits: a promise for each row of a long table takes longer than its parsing. */
export function orSkipNow<T>(options: SkipOptions, parse: () => T): T | null {
  try {
    return parse();
  } catch (error) {
    return skipped(error, options);
  }
}

function skipped(error: unknown, options: SkipOptions): null {
  if (!(error instanceof BadItemError)) throw error;
  if (!options.skipInvalid)
    throw new InputError(
      `${error.message}. Fix it, or leave such items out with --skip-invalid (in an experiment: data.skipInvalid: true)`,
    );
  options.onSkipped?.(`skipped ${error.message}`);
  return null;
}

/** What `parse` makes of each item; bad ones as `orSkip` has it, and null is left out. */
export async function* eachOrSkip<From, To>(
  items: Iterable<From> | AsyncIterable<From>,
  options: SkipOptions,
  parse: (item: From) => To | null | Promise<To | null>,
): AsyncGenerator<To> {
  for await (const item of items) {
    const parsed = orSkipNow(options, () => parse(item));
    const awaited = parsed instanceof Promise ? await orSkip(options, () => parsed) : parsed;
    if (awaited !== null) yield awaited;
  }
}

/** A value as JSON on one line, cut to 80 characters so that an error stays readable. */
export function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 80 ? text : `${text.slice(0, 77)}… (${text.length} characters)`;
}

/**
 * Checks a piece of foreign data that stands at `place` against a schema.
 * @throws BadItemError with the path, value and reason of the first problem
 */
export function parseItem<Schema extends z.ZodType>(
  schema: Schema,
  input: { value: unknown; place: string },
): z.output<Schema> {
  const result = schema.safeParse(input.value);
  if (result.success) return result.data;
  const { path, ...issue } = firstIssue(result.error, input.value);
  throw new BadItemError({ ...issue, place: path === '' ? input.place : `${input.place} ${path}` });
}

/**
 * The first thing that a schema found wrong, with the value that stands there. An unknown key comes before anything
 * else, the outermost first: where `tweets` stands for `posts`, that says more than that `posts` is missing.
 */
export function firstIssue(error: z.ZodError, input: unknown): { path: string; value: string; reason: string } {
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
  // The value is shown anyway, so the part of zod's message that describes it can go.
  const message = issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '');
  return { path: path.map(String).join('.'), value: shortened(value), reason: `${message}${more}` };
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * The `error` option of a strict schema: says that a key is unknown and which one was probably meant.
 * @param options.nearMisses other words for the known keys, each with what to write instead. People's files use them,
 *   and no spelling distance would find the right key.
 */
export function unknownKeyError(options: {
  readonly known: readonly string[];
  readonly nearMisses?: Readonly<Record<string, string>>;
}): z.core.$ZodErrorMap {
  return (issue) => {
    if (issue.code !== 'unrecognized_keys') return undefined;
    const [key] = issue.keys;
    return `unknown key, ${suggestion(key, options)}`;
  };
}

function suggestion(key: string, options: Parameters<typeof unknownKeyError>[0]): string {
  const { known, nearMisses = {} } = options;
  const spelling = key.toLowerCase().replace(/[^a-z]/g, '');
  if (Object.hasOwn(nearMisses, spelling)) return `did you mean ${nearMisses[spelling]}?`;
  const nearest = closest(spelling, [...known]);
  return distance(spelling, nearest.toLowerCase()) <= Math.max(1, nearest.length / 3)
    ? `did you mean ${nearest}?`
    : `known are ${known.join(', ')}`;
}
