import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonLines, writeJsonLines } from '../../src/json-file.ts';
import { recordOf } from '../../src/record-of.ts';

/*
 * `decisions.jsonl`: what each system of a run decided of each test item, one decision per line, in one form for every kind of
 * experiment. Every score that is shown is computed from it, so that a metric which is added later applies to old runs. What was
 * decided of the development part lies beside it, in `development-decisions.jsonl`: what chooses settings never opens the other. A
 * selector has both in one file, which it writes after each system, whole or not at all.
 */

export const decisionSchema = z.strictObject({
  system: z.string(),
  item: z.string().describe('the thread; of a reply with its own id after a slash'),
  event: z.string().nullable(),
  part: z.enum(['test', 'development']),
  place: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .describe('decisions with the same one are scored together: a test set and a task, or how many replies were read'),
  gold: z.string(),
  prediction: z
    .string()
    .nullable()
    .describe('null where nothing could be read, the judgement failed or the detector abstained'),
  probabilities: recordOf(z.number()).nullable().describe('of each label'),
  numbers: z.record(z.string(), z.number().nullable()).describe('what the kind of experiment counts'),
  texts: z.record(z.string(), z.string().nullable()),
});
/** One item as a system decided it. */
export type DecisionLine = z.output<typeof decisionSchema>;

/** Which threads of a run decisions are about. */
export type EvaluationSplit = 'test' | 'development';

/** Its name in the folder of a run. */
export function fileNameOf(part: EvaluationSplit): string {
  return part === 'test' ? 'decisions.jsonl' : 'development-decisions.jsonl';
}

/** On either part. */
export function hasDecisions(run: string): boolean {
  return existsSync(join(run, fileNameOf('test'))) || existsSync(join(run, fileNameOf('development')));
}

export function writeDecisions(run: string, decisions: readonly DecisionLine[], part: EvaluationSplit = 'test'): void {
  writeJsonLines(join(run, fileNameOf(part)), decisions);
}

/**
 * @param schema `decisionSchema`, with the numbers that the kind of experiment counts
 * @throws InputError when the run has no decisions on this part, or a line is none
 */
export function readDecisions<Of extends DecisionLine>(
  run: string,
  schema: z.ZodType<Of>,
  part: EvaluationSplit = 'test',
): Of[] {
  return readJsonLines(join(run, fileNameOf(part)), schema);
}
