import type { TranscriptEntry } from '../../detector.ts';
import { namesAsWords } from '../../llm/answers/answer-words.ts';
import { askVerdict, lastLineAsked, verdictInWords } from '../../llm/answers/verdict.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import type { JudgingTask } from '../../tasks/task-file.ts';
import { type JudgementSession, pretendedReason, transcriptEntry } from '../session.ts';

/** A possible outcome of a debate, for which a debater argues. */
export interface DebateSide {
  /** The name of the side in votes and verdicts. */
  readonly name: string;
  /** The meaning of the name as an answer. */
  readonly meaning: string;
  /** The role of the side's debater in the transcript. */
  readonly role: string;
  /** The debater's position, as a clause after "that". */
  readonly position: string;
}

export interface DebateQuestion {
  /** The category that the question is about; null for a task of labels, which is a single question. */
  readonly category: string | null;
  readonly question: string;
  /** The sides, the proponent's first. */
  readonly sides: readonly DebateSide[];
}

/** The debates of a task: one for a task of labels, and a yes-or-no question for each category. */
export function debateQuestions({ subject, question, labels, categories = [] }: JudgingTask): DebateQuestion[] {
  if (labels) {
    // By convention the last label is the positive one, and the proponent argues for it.
    const sides = labels.toReversed().map(({ name, description }, index) => ({
      name,
      meaning: description,
      role: index === 0 ? 'proponent' : labels.length === 2 ? 'opponent' : `opponent for ${name}`,
      position: `the answer is "${name}": ${description}`,
    }));
    return [{ category: null, question, sides }];
  }
  return categories.map(({ name, description }) => ({
    category: name,
    question: `Does this hold of the ${subject}: ${description}?`,
    sides: [
      { name: 'yes', meaning: 'it holds', role: 'proponent', position: `it holds that ${description}` },
      { name: 'no', meaning: 'it does not hold', role: 'opponent', position: `it does not hold that ${description}` },
    ],
  }));
}

export function sidesInWords({ question, sides }: DebateQuestion): string {
  return `${question}\n${sides.map(({ name, meaning }) => `- ${name}: ${meaning}`).join('\n')}`;
}

export interface DebateVerdict {
  readonly explanation: string;
  /** The name of one of the question's sides. */
  readonly verdict: string;
}

/** A verdict with its entry for the transcript. */
export interface SaidVerdict extends DebateVerdict {
  readonly entry: TranscriptEntry;
}

/** Asks for a reason and a decision for one side. @throws MalformedAnswerError if one repair does not help */
export async function askForSide(options: {
  /** The names of the speaker, the round and the decision in the transcript. */
  speaker: Pick<TranscriptEntry, 'role' | 'round'> & { readonly as: 'Vote' | 'Verdict' | 'Decision' };
  session: JudgementSession;
  endpoint: Endpoint;
  content: string;
  question: { readonly sides: readonly Pick<DebateSide, 'name'>[] };
  /** Index of the side that a dry run decides for, so that it makes the most calls. */
  dryRunSide?: number;
  dryRunReason?: string;
}): Promise<SaidVerdict> {
  const { speaker, session, endpoint, content, question } = options;
  const { dryRunSide = 0, dryRunReason: reason = pretendedReason } = options;
  const names = question.sides.map(({ name }) => name);
  const words = namesAsWords(names);
  const pretended = (side: number) => verdictInWords({ words, label: names[side % names.length], reason });
  const decided = await askVerdict({
    service: session.service,
    request: {
      endpoint,
      messages: [{ role: 'user', content: `${content}\n\n${lastLineAsked(words)}` }],
      dryRunText: pretended(dryRunSide),
      shortestDryRunText: pretended(0),
    },
    words,
    reasons: true,
  });
  const { label: verdict, reason: explanation, answers } = decided;
  const { as, ...by } = speaker;
  const entry = transcriptEntry({ ...by, text: `${explanation}\n${as}: ${verdict}`, vote: verdict, endpoint, answers });
  return { explanation, verdict, entry };
}
