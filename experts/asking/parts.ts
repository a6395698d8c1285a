import { PromiseCache } from '../../src/promise-cache.ts';
import type { Judgement, Usage } from '../detector.ts';
import { type ChatAnswer, usageOf } from '../llm/chat.ts';
import { MalformedAnswerError, orUnreadable } from '../llm/failures.ts';
import type { AskOnce, Question } from './ask-once.ts';

type Answered = Pick<Judgement, 'label' | 'explanation' | 'transcript'> & { readonly answers: readonly ChatAnswer[] };

/**
 * Asks for a part of a judgement that other judgements share word for word.
 * @param counts answers and parts of the judgement that needs the part
 */
export type AskPart = (
  question: Question,
  counts: { readonly answers: ChatAnswer[]; readonly parts: Usage[] },
  ask: () => Promise<Answered>,
) => Promise<Judgement>;

/**
 * Asks each part once. With `askOnce`, a part is an annotation that counts its usage, and each judgement that uses it
 * counts it as part usage. Without it, a part is asked once per process, and the first judgement alone counts it.
 */
export function partAsker(askOnce: AskOnce | undefined): AskPart {
  const judgements = new PromiseCache<Judgement | MalformedAnswerError>();
  return async (question, counts, ask) => {
    const judged = async (): Promise<Judgement> => {
      const { label, explanation, transcript, answers } = await ask();
      if (askOnce === undefined) counts.answers.push(...answers);
      return { label, probabilities: null, explanation, transcript, usage: usageOf(answers) };
    };
    if (askOnce !== undefined) {
      const judgement = await askOnce(question, judged);
      counts.parts.push(judgement.usage);
      return judgement;
    }
    const { threadId: _, prefixLength: __, ...words } = question;
    const answer = await judgements.get(JSON.stringify(words), () => orUnreadable(judged()));
    if (answer instanceof MalformedAnswerError) throw answer;
    return answer;
  };
}
