import type { z } from 'zod';
import { type ChatAnswer, usageOf } from '../llm/chat.ts';
import { once, type RememberedCall, type RememberedCalls } from '../remembered-calls.ts';

export interface Question<T> extends Omit<RememberedCall, 'threadId' | 'prefixLength'> {
  /** What an answer that was kept must still be. */
  readonly schema: z.ZodType<T>;
}

/** Asks for plain JSON, once for each question, however often and from wherever it is put. */
export type AskOnce = <T>(
  question: Question<T>,
  ask: () => Promise<{ readonly value: T; readonly answers?: readonly ChatAnswer[] }>,
) => Promise<T>;

export function askOnceIn(options: {
  /** Questions under way in this process and, where nothing else remembers, those answered. */
  known: Map<string, Promise<string>>;
  remember: RememberedCalls | undefined;
  /** Where it is asked now. */
  place: { readonly threadId: string; readonly prefixLength: number };
  /** Gets the answers where nothing else counts what they cost. */
  onAnswers: (answers: readonly ChatAnswer[]) => void;
}): AskOnce {
  const { known, remember, place, onAnswers } = options;
  return async ({ schema, ...question }, ask) => {
    const key = JSON.stringify(question);
    const text = await once({
      known,
      key,
      ask: async () => {
        if (remember === undefined) {
          const { value, answers = [] } = await ask();
          onAnswers(answers);
          return JSON.stringify(value);
        }
        const judgement = await remember.remember({ ...question, ...place }, async () => {
          const { value, answers = [] } = await ask();
          const transcript = [{ role: question.detector, text: JSON.stringify(value) }];
          return { label: null, probabilities: null, explanation: '', transcript, usage: usageOf(answers) };
        });
        return judgement.transcript[0].text;
      },
    });
    // A store answers from now on; this process need not keep it, too.
    if (remember !== undefined) known.delete(key);
    return schema.parse(JSON.parse(text));
  };
}
