import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';

/** The kinds of experiment. Files that name none are about stop agents. */
export const kindNames = ['stop-agent', 'selector', 'detectors', 'several-detectors'] as const;
export type KindName = (typeof kindNames)[number];

/** @throws InputError for a kind that is not known */
export function kindName(value: unknown, source: string): KindName {
  const known = kindNames.find((name) => name === (value === undefined ? 'stop-agent' : value));
  if (known !== undefined) return known;
  throw new InputError(
    value === 'sweep'
      ? `${source} is a sweep; run it with \`earshot sweep ${source}\``
      : `${source}: kind is ${JSON.stringify(value)}; it must be stop-agent (the default), selector, detectors or several-detectors`,
  );
}

/** What was trained in a run. */
export function kindOfRun(run: RunDirectory): KindName {
  return kindName(run.readConfig(z.looseObject({ kind: z.unknown().optional() })).kind, run.path);
}

const examples = {
  'stop-agent': 'one of a stop agent is needed; give a folder such as runs/quickstart/one-call/seed-1',
  selector: 'one of a selector is needed; give a folder such as runs/selector-quickstart/agent/seed-1',
} as const;

/** @throws InputError for a folder that is no run, or a run of another kind */
export function openRunOf(path: string, kind: keyof typeof examples): RunDirectory {
  const run = RunDirectory.open(path);
  const found = kindOfRun(run);
  if (found === kind) return run;
  throw new InputError(`${run.path} is a run of kind ${JSON.stringify(found)}, and ${examples[kind]}`);
}
