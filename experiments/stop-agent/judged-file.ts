import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { DecidedPart } from '../run/decisions-file.ts';
import type { TestThread } from './decisions.ts';

/*
 * `judged.jsonl`, and `development-judged.jsonl`: what the detector said of every prefix of the threads that were decided. Rules are decided from it whenever they are
 * shown, so a grid of rules may be as dense as one likes and applies to old runs.
 */

function fileNameOf(part: DecidedPart): string {
  return part === 'test' ? 'judged.jsonl' : 'development-judged.jsonl';
}

const lineSchema = z.strictObject({
  threadId: z.string(),
  gold: z.int(),
  /** Of every prefix; −1 where no label could be read, null where the detector gave no probability. */
  predicted: z.array(z.int()),
  confidence: z.array(z.number().nullable()),
  /** Of every post. */
  hours: z.array(z.number().nullable()),
  student: z.array(z.number()).nullable(),
});

export function writeJudged(run: string, threads: readonly TestThread[], part: DecidedPart): void {
  const lines = threads.map(
    ({ threadId, input, hours, studentConfidence }): z.infer<typeof lineSchema> => ({
      threadId,
      gold: input.goldLabel,
      predicted: [...input.sequence.predicted],
      confidence: Array.from(input.sequence.confidence, (value) => (Number.isNaN(value) ? null : value)),
      hours: [...hours],
      student: studentConfidence === null ? null : [...studentConfidence],
    }),
  );
  writeFileAtomically(join(run, fileNameOf(part)), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** Null for a run of version 0.2.0, which wrote the decisions of its rules instead. @throws InputError for a damaged file */
export function readJudged(run: string, part: DecidedPart): TestThread[] | null {
  const path = join(run, fileNameOf(part));
  if (!existsSync(path)) return null;
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const parsed = lineSchema.safeParse(jsonOrUndefined(line));
      if (!parsed.success)
        throw new InputError(`${path} has a line that is no judged thread: ${line.slice(0, 80)}; train the run again`);
      const { threadId, gold, predicted, confidence, hours, student } = parsed.data;
      const sequence = {
        predicted: Int8Array.from(predicted),
        confidence: Float32Array.from(confidence, (value) => value ?? Number.NaN),
      };
      const input = { sequence, goldLabel: gold, hours: hours.slice(0, predicted.length) };
      return { threadId, input, hours, studentConfidence: student };
    });
}
