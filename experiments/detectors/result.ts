import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { csvText } from '../../src/csv-text.ts';
import type { Thread } from '../../src/data/thread.ts';
import { entryOf } from '../../src/entry-of.ts';
import { readDecisions } from '../run/decisions-file.ts';
import { resultFile } from '../run/run-file.ts';
import { scoresOf } from '../run/scoring.ts';
import { type DetectorDecision, detectorDecisionSchema, type Replies, repliesOf } from './decisions.ts';
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
      confusion: confusionJson(confusionOf(stored, items)),
      worst: surestErrors(items),
    })),
  };
}

function confusionJson({ labels, counts }: ReturnType<typeof confusionOf>) {
  return labels.map((label, gold) => ({
    label,
    predicted: Object.fromEntries(labels.map((other, predicted) => [other, counts[gold][predicted]])),
    unanswered: counts[gold][labels.length],
  }));
}

/** Judgements beside the true labels as CSV: a row per detector, thread and number of replies. */
export function judgementTable(
  evaluations: readonly { readonly detector: string; readonly decisions: readonly DetectorDecision[] }[],
  threads: readonly Thread[],
): string {
  const texts = new Map(threads.map(({ id, posts }) => [id, posts[0].text]));
  const all = evaluations.flatMap(({ detector, decisions }) => decisions.map((decision) => ({ detector, decision })));
  const labels = [...new Set(all.flatMap(({ decision }) => Object.keys(decision.probabilities ?? {})))];
  const heading = [
    ...['detector', 'replies', 'thread', 'event', 'true', 'predicted', 'right'],
    ...labels.map((label) => `p(${label})`),
    ...['posts', 'calls', 'input_tokens', 'output_tokens', 'cost', 'seconds', 'key', 'explanation', 'text'],
  ];
  const rows = all.map(({ detector, decision }) => {
    const { item, event, gold, prediction, probabilities, numbers, texts: said } = decision;
    const { posts, calls, inputTokens, outputTokens, cost, seconds } = numbers;
    return [
      ...[detector, repliesOf(decision), item, event, gold, prediction, Number(prediction === gold)],
      ...labels.map((label) => entryOf(probabilities ?? {}, label)),
      ...[posts, calls, inputTokens, outputTokens, cost, seconds, said.key, said.explanation, texts.get(item)],
    ].map((cell) => String(cell ?? ''));
  });
  return csvText([heading, ...rows]);
}
