import { z } from 'zod';
import { InputError } from './errors.ts';

/**
 * What a schema makes of a value.
 * @param wrong begins the complaint, such as `the task x is wrong`
 * @throws InputError that names each problem
 */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, wrong: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InputError(`${wrong}:\n${z.prettifyError(parsed.error)}`);
}
