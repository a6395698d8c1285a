import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { $ZodType } from 'zod/v4/core';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';

/** A JSON file in the folder of a run. */
export function runFile<Value>(name: string, schema: $ZodType<Value>) {
  type Run = Pick<RunDirectory, 'path'>;
  const pathIn = ({ path }: Run) => join(path, name);
  /** @throws InputError for a file that is missing or damaged */
  const read = (run: Run): Value => readJsonFile(pathIn(run), schema);
  return {
    read,
    /** Null for a run that has none. */
    find: (run: Run): Value | null => (existsSync(pathIn(run)) ? read(run) : null),
    write: (run: Run, value: Value): void => writeJsonFile(pathIn(run), value),
  };
}
