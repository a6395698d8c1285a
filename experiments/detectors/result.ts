import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readDecisions } from '../run/decisions-file.ts';
import { resultFile } from '../run/run-file.ts';
import { scoresOf } from '../run/scoring.ts';
import { type DetectorDecision, detectorDecisionSchema, type Replies } from './decisions.ts';
import { byReplies, columnsOf, confusionOf, detectionScores, detectorScoring, surestErrors } from './scores.ts';

/** `result.json`: what the decisions of a run do not tell. */
export const detectorsResult = resultFile(2, {
  seed: z.int(),
  task: z.string(),
  labels: z.array(z.string()).describe('of judgements; for a task of categories every combination of them'),
  categories: z.array(z.string()).nullable(),
  parts: z.array(z.enum(['test', 'development'])).describe('judged'),
  threads: z.record(z.string(), z.int()).describe('threads of each part'),
  asked: z.int(),
  cached: z.int(),
  failed: z.int(),
  unreadable: z.int().describe('failed ones that were answered with something that is no judgement'),
  spent: z
    .array(z.object({ endpoint: z.string(), model: z.string(), requests: z.number(), cost: z.number() }))
    .describe('what this run sent in its last session; judgements that were known cost nothing again'),
});
type StoredDetectorsResult = ReturnType<typeof detectorsResult.read>;

/** The result of a finished run of detectors. */
export interface DetectorsResult extends StoredDetectorsResult {
  /** The part that tables show: the test, unless only the development part was judged. */
  readonly part: 'test' | 'development';
  readonly decisions: ReadonlyMap<Replies, readonly DetectorDecision[]>;
}

/** @throws InputError when another version of Earshot finished the run */
export function readDetectorsResult(run: RunDirectory): DetectorsResult {
  const stored = detectorsResult.read(run);
  const part = stored.parts.includes('test') ? 'test' : 'development';
  return { ...stored, part, decisions: byReplies(readDecisions(run.path, detectorDecisionSchema, part)) };
}

/** The scores of a run after each number of replies, as `--json` prints them. */
export function detectorsJson({ decisions, ...stored }: DetectorsResult): unknown {
  return {
    ...stored,
    at: Array.from(decisions, ([replies, items]) => ({
      replies,
      ...scoresOf(detectorScoring(stored), items),
      ...detectionScores(columnsOf(stored, items)),
      confusion: confusionOf(stored, items),
      worst: surestErrors(items),
    })),
  };
}
