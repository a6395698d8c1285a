import type { TranscriptEntry } from '../../detector.ts';
import { namesAsWords } from '../../llm/answers/answer-words.ts';
import { askVerdict, lastLineAsked, verdictInWords } from '../../llm/answers/verdict.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import type { JudgingTask } from '../../tasks/task-file.ts';
import { entryOf, type JudgementSession, pretendedReason } from '../session.ts';

/** One of the possible outcomes of a debate, with somebody to argue for it. */
export interface DebateSide {
  /** Its name in votes and verdicts. */
  readonly name: string;
  /** The meaning of that name as an answer. */
  readonly meaning: string;
  /** What the one who argues for it is called. */
  readonly role: string;
  /** What its debater argues, as a clause after "that". */
  readonly position: string;
}

/** The question of one debate. */
export interface DebateQuestion {
  /** Null for a task of labels, which is a single question. */
  readonly category: string | null;
  readonly question: string;
  /** The proponent's side comes first. */
  readonly sides: readonly DebateSide[];
}

/**
 * The debates of a task: a task of labels is one question, and each category of a task of categories is a yes-or-no
 * question.
 */
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

/** A verdict as an entry of the transcript, too. */
export interface SaidVerdict extends DebateVerdict {
  readonly entry: TranscriptEntry;
}

/**
 * Asks for a decision for one side, with the reason before it.
 * @throws MalformedAnswerError where it cannot be read even after one repair
 */
export async function askForSide(options: {
  /** What the transcript calls who decides, when, and what the decision is. */
  said: Pick<TranscriptEntry, 'role' | 'round'> & { readonly as: 'Vote' | 'Verdict' | 'Decision' };
  session: JudgementSession;
  endpoint: Endpoint;
  content: string;
  question: { readonly sides: readonly Pick<DebateSide, 'name'>[] };
  /** Index of the side that a dry run decides for, where it takes the most calls. */
  dryRunSide?: number;
  dryRunReason?: string;
}): Promise<SaidVerdict> {
  const { said, session, endpoint, content, question } = options;
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
  const { as, ...by } = said;
  const entry = entryOf({ ...by, text: `${explanation}\n${as}: ${verdict}`, vote: verdict, endpoint, answers });
  return { explanation, verdict, entry };
}
