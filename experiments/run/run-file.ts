import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { RunFacts } from '../../checkpoints/run-record.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';

/** A JSON file in the folder of a run. */
export function runFile<Value>(name: string, schema: z.core.$ZodType<Value>) {
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

/** `result.json` of one kind of experiment: what the decisions of a run do not tell, and the version of its form. */
export function resultFile<Shape extends z.ZodRawShape>(formatVersion: number, shape: Shape) {
  const schema = z.strictObject(shape);
  const version = z.looseObject({ formatVersion: z.literal(formatVersion) });
  const stored = version.transform(({ formatVersion: _, ...result }): unknown => result).pipe(schema);
  /** @throws InputError for a run that is not finished, or was finished by another version of Earshot */
  const read = (run: RunDirectory): z.output<typeof schema> => run.readResult(stored);
  return {
    read,
    write: (run: RunDirectory, result: z.output<typeof schema>): void => run.writeResult({ formatVersion, ...result }),
    /**
     * Creates or resumes the directory of a run; null if the run is finished.
     * @param of.facts a run that names no backend trains without tensors
     * @throws InputError if the directory holds a run of another config, seed or data, or the result of another version
     */
    unfinished(
      directory: string,
      { config, facts }: { config: unknown; facts: Pick<RunFacts, 'seed' | 'hashes'> & Partial<RunFacts> },
    ): RunDirectory | null {
      const run = RunDirectory.create(directory, { config, facts: { backend: 'none', device: 'processor', ...facts } });
      if (!run.isFinished()) return run;
      read(run);
      return null;
    },
  };
}
