import { ProviderError } from '../../src/errors.ts';
import type { ChatAnswer } from './chat.ts';

/** The budget does not allow another request. Nothing was sent, and earlier answers are not lost. */
export class BudgetSpentError extends ProviderError {}

/** No request to this endpoint can succeed until the user changes something: key, model, address or credit. */
export class EndpointUnusableError extends ProviderError {}

/** The quota of an hour or a day is spent, and its renewal is later than the user's patience. */
export class QuotaSpentError extends EndpointUnusableError {}

/** Whether all further calls would fail, too. */
export function endsAllCalls(error: unknown): boolean {
  return (
    error instanceof BudgetSpentError || error instanceof EndpointUnusableError || error instanceof UnreadableShareError
  );
}

/** Too many answers cannot be read, so further questions would waste money. */
export class UnreadableShareError extends ProviderError {}

export type UnreadableAnswer = Pick<ChatAnswer, 'text' | 'thinking' | 'finishReason'>;

/** The model's answer could not be read, not even after a second question. */
export class MalformedAnswerError extends ProviderError {
  /** The unreadable answers, in the order in which they were given. */
  readonly answers: readonly UnreadableAnswer[];

  constructor(message: string, details: { answers: readonly UnreadableAnswer[] }) {
    super(message);
    this.answers = details.answers;
  }
}

/** Returns an answer, or the failure to read it, for callers that can do without. Other failures are thrown. */
export async function orUnreadable<T>(answer: Promise<T>): Promise<T | MalformedAnswerError> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MalformedAnswerError) return error;
    throw error;
  }
}

/** Only prepared questions can be answered, such as those of a batch. */
export class CannotAskError extends ProviderError {}

/** The messages are longer than the model's context. */
export class ContextLengthError extends ProviderError {
  /** The context length that the endpoint reports or the configuration states; null if unknown. */
  readonly contextTokens: number | null;
  readonly requestedTokens: number | null;

  constructor(message: string, details: { contextTokens: number | null; requestedTokens: number | null }) {
    super(message);
    this.contextTokens = details.contextTokens;
    this.requestedTokens = details.requestedTokens;
  }
}
