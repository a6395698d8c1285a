import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';

/** The kind of experiment of a run. */
export function kindOfRun(run: RunDirectory): string {
  return run.readConfig(z.looseObject({ kind: z.string().default('stop-agent') })).kind;
}

/** @throws InputError for a folder that is no run, or a run of another kind */
export function openAgentRun(path: string): RunDirectory {
  const run = RunDirectory.open(path);
  const kind = kindOfRun(run);
  if (kind === 'stop-agent') return run;
  throw new InputError(
    `${run.path} is a run of kind ${JSON.stringify(kind)}, and one of a stop agent is needed; give a folder such as runs/quickstart/one-query/seed-1`,
  );
}
