import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { StopDecision } from '../../trainers/stop-agent/policy.ts';

/*
 * `stop-probabilities.jsonl`, and `development-stop-probabilities.jsonl`: π(stop) of a run's agent at every post of the
 * threads that were decided. Pages show it; no score is computed from it.
 */

function fileNameOf(part: 'test' | 'development'): string {
  return part === 'test' ? 'stop-probabilities.jsonl' : 'development-stop-probabilities.jsonl';
}

const lineSchema = z.strictObject({
  threadId: z.string(),
  /** At every post, given that the agent has continued so far; 0 where it does not act. Rounded. */
  stopProbability: z.array(z.number()),
});

export function writeStopProbabilities(
  run: string,
  stops: readonly StopDecision[],
  part: 'test' | 'development',
): void {
  const lines = stops.map(
    ({ threadId, stopProbability }): z.infer<typeof lineSchema> => ({
      threadId,
      stopProbability: Array.from(stopProbability, (probability) => Number(probability.toFixed(4))),
    }),
  );
  writeFileAtomically(join(run, fileNameOf(part)), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** By thread; null for a run of an earlier version, which did not write them. @throws InputError for a damaged file */
export function readStopProbabilities(
  run: string,
  part: 'test' | 'development',
): ReadonlyMap<string, readonly number[]> | null {
  const path = join(run, fileNameOf(part));
  if (!existsSync(path)) return null;
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const parsed = lineSchema.safeParse(jsonOrUndefined(line));
      if (parsed.success) return [parsed.data.threadId, parsed.data.stopProbability] as const;
      throw new InputError(
        `${path} has a line that holds no stop probabilities: ${line.slice(0, 80)}; train the run again`,
      );
    }),
  );
}
