import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonLines, writeJsonLines } from '../../src/json-file.ts';
import { decisionSchema, type EvaluationSplit, readDecisions, writeDecisions } from '../run/decisions-file.ts';
import { stopNumbersSchema } from './decide.ts';
import type { Decision, TestThread } from './decisions.ts';

/*
 * The files of a run about decided threads: `decisions.jsonl`, and `judged.jsonl` with one thread per line: what the
 * detector said of every prefix. Rules are decided from it whenever they are shown, so a grid of rules may be as dense as one likes.
 * `stop-probabilities.jsonl` has π(stop) of the agent at every post, for pages. The names of those of the development part begin
 * with `development-`.
 */

const stopLineSchema = decisionSchema.extend({ numbers: stopNumbersSchema });
/** A stop as `decisions.jsonl` has it. */
export type StopLine = z.output<typeof stopLineSchema>;

interface OfPart {
  /** Those of the task, by their index. */
  readonly labels: readonly string[];
  readonly part: EvaluationSplit;
}

export function linesOfStops(stops: readonly Decision[], { labels, part }: OfPart): StopLine[] {
  return stops.map(({ system, threadId, gold, predicted, ...numbers }) => ({
    system,
    item: threadId,
    event: null,
    part: part === 'test' ? part : 'development',
    place: {},
    gold: labels[gold],
    prediction: labels[predicted] ?? null,
    probabilities: null,
    numbers,
    texts: {},
  }));
}

export function stopsOfLines(lines: readonly StopLine[], labels: readonly string[]): Decision[] {
  return lines.map(({ system, item, gold, prediction, numbers }) => ({
    system,
    threadId: item,
    gold: labels.indexOf(gold),
    predicted: prediction === null ? -1 : labels.indexOf(prediction),
    ...numbers,
  }));
}

/** @throws InputError when the run has no decisions on this part, or a line is none */
export function readStops(run: string, { labels, part }: OfPart): Decision[] {
  return stopsOfLines(readDecisions(run, stopLineSchema, part), labels);
}

function pathOf(run: string, part: EvaluationSplit, name: 'judged.jsonl' | 'stop-probabilities.jsonl'): string {
  return join(run, part === 'test' ? name : `development-${name}`);
}

const judgedSchema = z.strictObject({
  threadId: z.string(),
  gold: z.int(),
  /** Of every prefix; −1 where no label could be read, null where the detector gave no probability. */
  predicted: z.array(z.int()),
  confidence: z.array(z.number().nullable()),
  /** Of every post. */
  hours: z.array(z.number().nullable()),
  student: z.array(z.number()).nullable(),
});

export function writeJudged(run: string, threads: readonly TestThread[], part: EvaluationSplit): void {
  const lines = threads.map(
    ({ threadId, goldLabel, sequence, hours, studentConfidence }): z.infer<typeof judgedSchema> => ({
      threadId,
      gold: goldLabel,
      predicted: [...sequence.predicted],
      confidence: Array.from(sequence.confidence, (value) => (Number.isNaN(value) ? null : value)),
      hours: [...hours],
      student: studentConfidence === null ? null : [...studentConfidence],
    }),
  );
  writeJsonLines(pathOf(run, part, 'judged.jsonl'), lines);
}

/** @throws InputError for a file that is missing or damaged */
export function readJudged(run: string, part: EvaluationSplit): TestThread[] {
  return readJsonLines(pathOf(run, part, 'judged.jsonl'), judgedSchema).map((line) => {
    const { threadId, gold, predicted, confidence, hours, student } = line;
    const sequence = {
      predicted: Int8Array.from(predicted),
      confidence: Float32Array.from(confidence, (value) => value ?? Number.NaN),
    };
    return { threadId, goldLabel: gold, sequence, hours, studentConfidence: student };
  });
}

const stopProbabilitiesSchema = z.strictObject({
  threadId: z.string(),
  /** At every post, given that the agent has continued so far; 0 where it does not act. Rounded. */
  stopProbability: z.array(z.number()),
});

export function writeStopProbabilities(
  run: string,
  scored: readonly { readonly threadId: string; readonly scores: ArrayLike<number> }[],
  part: EvaluationSplit,
): void {
  const lines = scored.map(
    ({ threadId, scores }): z.infer<typeof stopProbabilitiesSchema> => ({
      threadId,
      stopProbability: Array.from(scores, (probability) => Number(probability.toFixed(7))),
    }),
  );
  writeJsonLines(pathOf(run, part, 'stop-probabilities.jsonl'), lines);
}

/** Writes all files about the decided threads of one part. */
export function writeDecided(
  run: string,
  of: OfPart & {
    stops: readonly Decision[];
    judged: readonly TestThread[];
    scored: Parameters<typeof writeStopProbabilities>[1];
  },
): void {
  const { stops, judged, scored, part } = of;
  writeDecisions(run, linesOfStops(stops, of), part);
  writeJudged(run, judged, part);
  writeStopProbabilities(run, scored, part);
}

/** By thread; null where the run's sweep did not keep them. @throws InputError for a file that is damaged */
export function readStopProbabilities(
  run: string,
  part: EvaluationSplit,
): ReadonlyMap<string, readonly number[]> | null {
  if (!existsSync(pathOf(run, part, 'stop-probabilities.jsonl'))) return null;
  const lines = readJsonLines(pathOf(run, part, 'stop-probabilities.jsonl'), stopProbabilitiesSchema);
  return new Map(lines.map(({ threadId, stopProbability }) => [threadId, stopProbability]));
}
