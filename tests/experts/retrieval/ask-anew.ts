import { type AskShared, sharedAsker } from '../../../experts/retrieval/shared-questions.ts';
import { PromiseCache } from '../../../src/promise-cache.ts';

/** Keeps nothing. */
export const askAnew: AskShared = (question, ask) =>
  sharedAsker({
    cache: new PromiseCache(),
    keptParts: undefined,
    place: { threadId: 't', prefixLength: 1 },
    onAnswers: () => {},
    onPart: () => {},
  })(question, ask);
