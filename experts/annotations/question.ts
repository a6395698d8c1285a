import type { Thread } from '../../src/data/thread.ts';
import type { Judgement } from '../detector.ts';
import type { AnnotationRequest } from './annotation-row.ts';

/** A prefix that is to be judged. */
export interface Question {
  readonly group: Group;
  readonly thread: Thread;
  readonly length: number;
  readonly request: AnnotationRequest;
  readonly key: string;
}

/** Threads that are looked up together. Their sequences are made when the last of their questions is settled. */
export interface Group {
  readonly threads: readonly Thread[];
  readonly questions: Question[];
  /** By key; null where the detector failed. */
  readonly answers: Map<string, Judgement | null>;
  unsettled: number;
}

/** What was answered to a question: its judgement, or why the answer is none. */
export type Known = { readonly judgement: Judgement } | { readonly problem: string };

export function judgementIn(answer: Known): Judgement | null {
  return 'judgement' in answer ? answer.judgement : null;
}

/** Two prefixes may read alike (the same claim posted twice); the question is asked once. */
export function firstOfEachKey(questions: readonly Question[]): Question[] {
  return [...new Map(questions.toReversed().map((question) => [question.key, question])).values()].reverse();
}

/** One entry a prefix length: where a prefix was not asked about, the last judgement before it still holds. */
export function heldUntilNext(options: {
  own: readonly Question[];
  answers: ReadonlyMap<string, Judgement | null>;
  posts: number;
}): (Judgement | null)[] {
  const judgements = new Array<Judgement | null>(options.posts).fill(null);
  for (const { length, key } of options.own) judgements.fill(options.answers.get(key) ?? null, length - 1);
  return judgements;
}

/** The last thing that was said before the judgement, for the store and for messages. */
export function lastText({ transcript }: Judgement): string | undefined {
  return transcript.at(-1)?.text;
}

/** A text as it stands in messages. */
export function quotedStart(text: string | undefined): string {
  return text === undefined ? '(nothing)' : JSON.stringify(text.slice(0, 200));
}
