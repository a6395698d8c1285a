import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { readJsonLines, writeJsonLines } from '../../src/json-file.ts';

/*
 * `decisions.jsonl`: what each system of a run decided of each test item, one decision a line. Every score that is shown is
 * computed from it, so that a metric which is added later applies to old runs. What was decided of the development part lies
 * beside it, in `development-decisions.jsonl`: who chooses settings reads that file and never opens the other.
 */

/** Which threads of a run decisions are about, and at which iteration, where that is not the last. */
export type EvaluationSplit = 'test' | 'development' | { readonly developmentAt: number };

/** Its name in the folder of a run. */
export function fileNameOf(part: EvaluationSplit): string {
  if (part === 'test') return 'decisions.jsonl';
  if (part === 'development') return 'development-decisions.jsonl';
  return `development-decisions-at-${String(part.developmentAt).padStart(8, '0')}.jsonl`;
}

/** A decision of either kind of experiment. */
export interface Decided {
  readonly system: string;
}

/** On this part; without one, on either. */
export function hasDecisions(run: string, part?: EvaluationSplit): boolean {
  const parts: readonly EvaluationSplit[] = part === undefined ? ['test', 'development'] : [part];
  return parts.some((own) => existsSync(join(run, fileNameOf(own))));
}

export function writeDecisions(run: string, decisions: readonly Decided[], part: EvaluationSplit = 'test'): void {
  writeJsonLines(join(run, fileNameOf(part)), decisions);
}

/** @throws InputError when the run has no decisions on this part, or a line is none */
export function readDecisions<Decision extends Decided>(
  run: string,
  schema: z.ZodType<Decision>,
  part: EvaluationSplit = 'test',
): Decision[] {
  const path = join(run, fileNameOf(part));
  if (!existsSync(path)) {
    const advice = part === 'test' ? 'train the run again' : 'train it with split.development above 0';
    throw new InputError(`${run} has no ${fileNameOf(part)}; ${advice}`);
  }
  return readJsonLines(path, schema);
}
