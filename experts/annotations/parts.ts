import { PromiseCache } from '../../src/promise-cache.ts';
import type { Judgement, Usage } from '../detector.ts';
import { type ChatAnswer, usageOf } from '../llm/chat.ts';
import { MalformedAnswerError, orUnreadable } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import type { AnnotationRow } from './annotation-row.ts';
import type { CallJournal } from './call-journal.ts';
import { type JudgementStore, type Question, sharedJudgements } from './shared-judgements.ts';

/** A part of a judgement that other judgements ask for as well, word for word. */
export interface PartQuestion extends Pick<Question, 'threadId' | 'prefixLength'> {
  /** The detector's name, a slash and what is asked, such as `s2mad/comment-score`. */
  readonly detector: string;
  readonly version: string;
  /** Everything that can change the answer, like a detector's options. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly input: unknown;
}

/** Where the parts that judgements share are kept, so that no process pays for one twice. */
export interface SharedParts {
  /**
   * The answer kept for this question; asks when there is none.
   * @throws MalformedAnswerError where the answer cannot be read, now or when it was given; other failures are not kept
   */
  part(question: PartQuestion, ask: () => Promise<Judgement>): Promise<Judgement>;
}

/** Keeps parts as annotations of their own. */
export function sharedPartsIn(options: {
  store: JudgementStore & { put(row: AnnotationRow): boolean };
  calls: CallJournal;
  /** Aborting ends the waiting for other processes. */
  signal?: AbortSignal | undefined;
  /** Ask once more for parts whose earlier answers could not be read. */
  retryUnreadable?: boolean | undefined;
  /** Told while other processes are waited for. */
  waits?: Waits | undefined;
}): SharedParts {
  const { store, calls, signal, retryUnreadable, waits } = options;
  const judgements = sharedJudgements({
    store,
    keep: (key, row) => calls.kept(() => (store.put(row) ? undefined : store.getMany([key]).get(key)) ?? row.judgement),
    calls,
    retryUnreadable,
    waits,
    signal: AbortSignal.any([calls.ended, ...(signal ? [signal] : [])]),
  });
  return {
    part({ threadId, prefixLength, ...asked }, ask) {
      const request = { ...asked, sampleIndex: 0 };
      return judgements.askOnce({ key: store.keyOf(request), request, threadId, prefixLength }, ask);
    },
  };
}

type Answered = Pick<Judgement, 'label' | 'explanation' | 'transcript'> & { readonly answers: readonly ChatAnswer[] };

/** The judgement that needs a part, which counts what its calls and its parts took. */
interface Counts {
  readonly answers: ChatAnswer[];
  readonly parts: Usage[];
}

export type AskPart = (question: PartQuestion, counts: Counts, ask: () => Promise<Answered>) => Promise<Judgement>;

/**
 * Asks each part once in all where parts are kept: the part counts its usage, and so does every judgement that uses it,
 * as part usage. Without shared parts it is asked once in this process, and the judgement that asked first counts it alone.
 */
export function partAsker(sharedParts: SharedParts | undefined): AskPart {
  const known = new PromiseCache<Judgement | MalformedAnswerError>();
  return async (question, counts, ask) => {
    const judged = async (): Promise<Judgement> => {
      const { label, explanation, transcript, answers } = await ask();
      if (sharedParts === undefined) counts.answers.push(...answers);
      return { label, probabilities: null, explanation, transcript, usage: usageOf(answers) };
    };
    if (sharedParts !== undefined) {
      const judgement = await sharedParts.part(question, judged);
      counts.parts.push(judgement.usage);
      return judgement;
    }
    const { threadId: _, prefixLength: __, ...asked } = question;
    const answer = await known.get(JSON.stringify(asked), () => orUnreadable(judged()));
    if (answer instanceof MalformedAnswerError) throw answer;
    return answer;
  };
}
