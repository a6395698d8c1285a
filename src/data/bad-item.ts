import type { z } from 'zod';
import { InputError } from '../errors.ts';

/** One thing in foreign data that cannot be used: where it stands, what was seen there, and why that is wrong. */
export interface BadItem {
  readonly place: string;
  readonly value: string;
  readonly reason: string;
}

export interface SkipOptions {
  /** Leave bad items out and go on, instead of failing at the first one. */
  readonly skipInvalid?: boolean | undefined;
  /** Called for each item left out, so that a caller can count and show them. */
  readonly onSkipped?: ((item: BadItem) => void) | undefined;
}

/** Thrown by parsing code; `orSkip` decides whether it ends the reading. */
export class BadItemError extends Error {
  override readonly name = 'BadItemError';
  readonly item: BadItem;

  constructor(item: BadItem) {
    super(formatBadItem(item));
    this.item = item;
  }
}

export function formatBadItem(item: BadItem): string {
  return `${item.place}: ${item.reason}; found ${item.value}`;
}

/** Runs `parse`; a bad item is skipped and counted when the options say so (null is returned), else an InputError. */
export async function orSkip<T>(options: SkipOptions, parse: () => T | Promise<T>): Promise<T | null> {
  try {
    return await parse();
  } catch (error) {
    if (!(error instanceof BadItemError)) throw error;
    if (!options.skipInvalid)
      throw new InputError(`${error.message}. Mend it, or leave such items out with --skip-invalid`);
    options.onSkipped?.(error.item);
    return null;
  }
}

/** A value as JSON on one line, cut so that an error stays readable. */
export function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 80 ? text : `${text.slice(0, 77)}… (${text.length} characters)`;
}

/** Parses a piece of foreign data that stands at `place`. */
export function parseItem<Schema extends z.ZodType>(
  schema: Schema,
  input: { value: unknown; place: string },
): z.output<Schema> {
  const result = schema.safeParse(input.value);
  if (result.success) return result.data;
  const { path, ...issue } = firstIssue(result.error, input.value);
  throw new BadItemError({ ...issue, place: path === '' ? input.place : `${input.place} ${path}` });
}

/** The first thing a schema found wrong, with the value that stands there. */
export function firstIssue(error: z.ZodError, input: unknown): { path: string; value: string; reason: string } {
  const [issue] = error.issues;
  const more = error.issues.length > 1 ? ` (and ${error.issues.length - 1} more in this item)` : '';
  let value: unknown = input;
  for (const key of issue.path) value = isRecord(value) ? Reflect.get(value, key) : undefined;
  // The value is told beside it, so what zod received need not be.
  const message = issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '');
  return { path: issue.path.map(String).join('.'), value: shortened(value), reason: `${message}${more}` };
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
