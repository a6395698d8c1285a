import { z } from 'zod';
import { InputError } from './errors.ts';

/**
 * Parses a value with a schema.
 * @param wrong the beginning of the message, such as `the task x is wrong`
 * @throws InputError that names each problem
 */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, wrong: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InputError(`${wrong}:\n${z.prettifyError(parsed.error)}`);
}
