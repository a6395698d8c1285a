import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';

/** `result.json` of one kind of experiment: what the decisions of a run do not tell, and the version of its form. */
export function resultFile<Shape extends z.ZodRawShape>(formatVersion: number, shape: Shape) {
  const schema = z.strictObject(shape);
  const version = z.looseObject({ formatVersion: z.literal(formatVersion) });
  const stored = version.transform(({ formatVersion: _, ...own }): unknown => own).pipe(schema);
  return {
    /** @throws InputError for a run that is not finished, or was finished by another version of Earshot */
    read: (run: RunDirectory): z.output<typeof schema> => run.readResult(stored),
    write: (run: RunDirectory, result: z.output<typeof schema>): void => run.writeResult({ formatVersion, ...result }),
  };
}
