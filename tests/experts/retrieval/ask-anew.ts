import { type AskShared, partAsker, sharedAsker } from '../../../experts/asking/shared-questions.ts';

/** Keeps nothing. */
export const askAnew: AskShared = (question, ask) =>
  sharedAsker({
    askPart: partAsker(undefined),
    place: { threadId: 't', prefixLength: 1 },
    counts: { answers: [], parts: [] },
  })(question, ask);
