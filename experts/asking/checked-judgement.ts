import { z } from 'zod';
import type { Prefix } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { type Detector, type Judgement, judgementSchema } from '../detector.ts';
import { MalformedAnswerError } from '../llm/failures.ts';
import { lastText } from './ask-once.ts';

/** Tolerance of the sum of probabilities, for detectors that round them. */
const ROUNDING = 0.05;

/**
 * Runs a detector on a prefix and validates its judgement.
 * @throws InputError for an invalid judgement, MalformedAnswerError for one without a label if the detector may not
 *   abstain
 */
export async function judged(detector: Detector, prefix: Prefix, signal?: AbortSignal): Promise<Judgement> {
  const { labels, name, mayAbstain } = detector;
  const answer = await detector.judge(prefix, signal && { signal });
  const judgement = validateJudgement(answer, { detector: `the detector ${name}`, labels, prefix });
  if (judgement.label !== null || mayAbstain) return judgement;
  const start = lastText(judgement)?.slice(0, 200);
  throw new MalformedAnswerError(
    `the detector read no label in ${start === undefined ? '(nothing)' : JSON.stringify(start)}`,
    {
      answers: judgement.transcript.slice(-1).map(({ text }) => ({ text, finishReason: 'unknown' })),
    },
  );
}

/**
 * Validates a judgement of a detector from outside, which would stay in the store for good.
 * @param asked.detector the detector's name in messages, such as `the detector words`
 * @throws InputError that names each problem: an unknown label, probabilities of other labels or with another sum than
 *   1, a missing field
 */
function validateJudgement(
  judgement: unknown,
  { detector, labels, prefix }: { detector: string; labels: readonly string[]; prefix: Prefix },
): Judgement {
  const parsed = judgementSchema.safeParse(judgement);
  const problem = parsed.success ? problemIn(parsed.data, labels) : z.prettifyError(parsed.error);
  if (parsed.success && problem === null) return parsed.data;
  throw new InputError(
    `${detector} said of the first ${prefix.posts.length} posts of thread ${JSON.stringify(prefix.threadId)} what is no judgement:\n${problem}`,
  );
}

function problemIn({ label, probabilities }: Judgement, labels: readonly string[]): string | null {
  const quotedLabels = labels.map((name) => JSON.stringify(name)).join(', ');
  if (label !== null && !labels.includes(label)) return `the label ${JSON.stringify(label)} is none of ${quotedLabels}`;
  if (probabilities === null) return null;
  const names = Object.keys(probabilities);
  if (names.length !== labels.length || !labels.every((name) => names.includes(name)))
    return `there are probabilities of ${names.map((name) => JSON.stringify(name)).join(', ')}, and the labels are ${quotedLabels}`;
  const sum = Object.values(probabilities).reduce((total, each) => total + each, 0);
  return Math.abs(sum - 1) <= ROUNDING ? null : `the probabilities add up to ${sum}, not to 1`;
}
