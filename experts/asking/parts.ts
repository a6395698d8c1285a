import { PromiseCache } from '../../src/promise-cache.ts';
import type { Judgement, Usage } from '../detector.ts';
import { type ChatAnswer, usageOf } from '../llm/chat.ts';
import { MalformedAnswerError, orUnreadable } from '../llm/failures.ts';
import type { AskOnce, Question } from './ask-once.ts';

type Answered = Pick<Judgement, 'label' | 'explanation' | 'transcript'> & { readonly answers: readonly ChatAnswer[] };

/**
 * Asks for a part of a judgement that other judgements ask for as well, word for word.
 * @param counts of the judgement that needs the part: what its calls and its parts took
 */
export type AskPart = (
  question: Question,
  counts: { readonly answers: ChatAnswer[]; readonly parts: Usage[] },
  ask: () => Promise<Answered>,
) => Promise<Judgement>;

/**
 * Asks each part once. With `askOnce` a part is an annotation of its own that counts its usage, and so does every
 * judgement that uses it, as part usage. Without it a part is asked once in this process, and the judgement that asked
 * first counts it alone.
 */
export function partAsker(askOnce: AskOnce | undefined): AskPart {
  const asked = new PromiseCache<Judgement | MalformedAnswerError>();
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
    const answer = await asked.get(JSON.stringify(words), () => orUnreadable(judged()));
    if (answer instanceof MalformedAnswerError) throw answer;
    return answer;
  };
}
