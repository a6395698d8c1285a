import { type AskOnce, askOnceIn } from '../../../experts/retrieval/shared-questions.ts';

/** Remembers nothing. */
export const askAnew: AskOnce = (question, ask) =>
  askOnceIn({
    known: new Map(),
    remember: undefined,
    place: { threadId: 't', prefixLength: 1 },
    onAnswers: () => {},
    onPart: () => {},
  })(question, ask);
