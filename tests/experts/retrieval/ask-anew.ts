import { PromiseCache } from '../../../experts/promise-cache.ts';
import { type AskShared, sharedAsker } from '../../../experts/retrieval/shared-questions.ts';

/** Keeps nothing. */
export const askAnew: AskShared = (question, ask) =>
  sharedAsker({
    cache: new PromiseCache(),
    keptParts: undefined,
    place: { threadId: 't', prefixLength: 1 },
    onAnswers: () => {},
    onPart: () => {},
  })(question, ask);
