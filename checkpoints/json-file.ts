import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { writeFileAtomically } from '../src/atomic-file.ts';
import { diskError } from '../src/disk-error.ts';
import { InputError } from '../src/errors.ts';
import { exactJson } from './exact-json.ts';

/** Whole or not at all, indented for people. */
export function writeJsonFile(path: string, value: unknown): void {
  const exact: unknown = JSON.parse(exactJson(value, path));
  writeFileAtomically(path, `${JSON.stringify(exact, null, 2)}\n`);
}

export function readJsonFile<Value>(path: string, schema: z.ZodType<Value>): Value {
  const parsed = schema.safeParse(parse(path));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  throw new InputError(
    `${path} is not what this Earshot expects (${problems.join('; ')}); use the Earshot that wrote it, or restore the file`,
  );
}

function parse(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new InputError(`${path} is not JSON (${error.message}); restore the file`, { cause: error });
    throw diskError(error, { what: `read ${path}` });
  }
}
