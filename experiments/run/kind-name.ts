import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';

/** The kinds of experiment. Files that name none are about stop agents. */
export const kindNames = ['stop-agent', 'selector', 'detectors'] as const;
export type KindName = (typeof kindNames)[number];

/** @throws InputError for a kind that is not known */
export function kindName(value: unknown, source: string): KindName {
  const known = kindNames.find((name) => name === (value === undefined ? 'stop-agent' : value));
  if (known !== undefined) return known;
  throw new InputError(
    value === 'sweep'
      ? `${source} is a sweep; run it with \`earshot sweep ${source}\``
      : `${source}: kind is ${JSON.stringify(value)}; it must be stop-agent (the default), selector or detectors`,
  );
}

/** What was trained in a run. */
export function kindOfRun(run: RunDirectory): KindName {
  return kindName(run.readConfig(z.looseObject({ kind: z.unknown().optional() })).kind, run.path);
}
