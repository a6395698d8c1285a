import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';
import { isFinished, type TrialOutcome } from './trial.ts';

/*
 * `failure.json`: why the last training in a folder failed. It may have failed before there was a run.
 */

const failureSchema = z.object({
  severity: z.union([z.literal(1), z.literal(2), z.literal(3)]),
  message: z.string(),
});
export type Failure = z.output<typeof failureSchema>;

export const failureName = 'failure.json';

/** Null where the last training has not failed. A run that is finished stays finished, whatever a later command refused. */
export function failureIn(directory: string): Failure | null {
  const path = join(directory, failureName);
  return existsSync(path) && !isFinished(directory) ? readJsonFile(path, failureSchema) : null;
}

/** Keeps why a training failed; any other outcome removes it. */
export function noteOutcome(directory: string, outcome: TrialOutcome): void {
  const path = join(directory, failureName);
  if (outcome.how !== 'failed') {
    rmSync(path, { force: true });
    return;
  }
  const { severity, message } = outcome;
  try {
    writeJsonFile(path, { severity, message });
  } catch (error) {
    // A full disk may be why it failed. The command tells of the failure in any case.
    if (!(error instanceof InputError)) throw error;
  }
}
