import { ProviderError } from '../../src/errors.ts';
import type { ChatAnswer } from './chat.ts';

/** The budget does not allow another request. Nothing was sent, and earlier answers are not lost. */
export class BudgetSpentError extends ProviderError {}

/** No request to this endpoint can succeed until the user changes something: key, model, address or credit. */
export class EndpointUnusableError extends ProviderError {}

/**
 * The quota of an hour or a day is used up: waiting for it takes longer than the user wants to wait. The same command goes on
 * when it is back.
 */
export class QuotaSpentError extends EndpointUnusableError {}

/** Whether all further calls would fail as well, so that asking on is pointless. */
export function endsAllCalls(error: unknown): boolean {
  return (
    error instanceof BudgetSpentError || error instanceof EndpointUnusableError || error instanceof UnreadableShareError
  );
}

/** So many answers cannot be read that asking on would be a waste of money. */
export class UnreadableShareError extends ProviderError {}

export type UnreadableAnswer = Pick<ChatAnswer, 'text' | 'thinking' | 'finishReason'>;

/** The model's answer could not be read as what was asked for, not even when it was asked again. */
export class MalformedAnswerError extends ProviderError {
  /** Those that could not be read, in the order in which they were given. */
  readonly answers: readonly UnreadableAnswer[];

  constructor(message: string, details: { answers: readonly UnreadableAnswer[] }) {
    super(message);
    this.answers = details.answers;
  }
}

/** What was asked for, or the failure to read it, for whoever can do without. Other failures are thrown. */
export async function orUnreadable<T>(answer: Promise<T>): Promise<T | MalformedAnswerError> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MalformedAnswerError) return error;
    throw error;
  }
}

/** Only the questions handed in before can be answered, such as those of a batch. */
export class CannotAskError extends ProviderError {}

/** The messages are longer than the model reads. */
export class ContextLengthError extends ProviderError {
  /** As told by the endpoint, or else by the configuration; null if neither says. */
  readonly contextTokens: number | null;
  readonly requestedTokens: number | null;

  constructor(message: string, details: { contextTokens: number | null; requestedTokens: number | null }) {
    super(message);
    this.contextTokens = details.contextTokens;
    this.requestedTokens = details.requestedTokens;
  }
}
