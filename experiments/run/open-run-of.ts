import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';

const examples = {
  'stop-agent': 'one of a stop agent is needed; give a folder such as runs/quickstart/one-query/seed-1',
  selector: 'one of a selector is needed; give a folder such as runs/selector-quickstart/agent/seed-1',
} as const;

/** @throws InputError for a folder that is no run, or a run of another kind */
export function openRunOf(path: string, kind: keyof typeof examples): RunDirectory {
  const run = RunDirectory.open(path);
  const actual = kindOfRun(run);
  if (actual === kind) return run;
  throw new InputError(`${run.path} is a run of kind ${JSON.stringify(actual)}, and ${examples[kind]}`);
}

/** The kind of experiment of a run. */
export function kindOfRun(run: RunDirectory): string {
  return run.readConfig(z.looseObject({ kind: z.string().default('stop-agent') })).kind;
}
