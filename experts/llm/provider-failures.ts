import { ProviderError } from '../../src/errors.ts';

/** The budget does not allow another request. Nothing was sent; what was answered before is not lost. */
export class BudgetSpentError extends ProviderError {}

/** No request to this endpoint can succeed before a person changes something: key, model, address, credit. */
export class EndpointUnusableError extends ProviderError {}

/** The model answered, also when asked again, with something that could not be read as what was asked for. */
export class MalformedAnswerError extends ProviderError {
  readonly lastAnswer: string;

  constructor(message: string, details: { lastAnswer: string }) {
    super(message);
    this.lastAnswer = details.lastAnswer;
  }
}

/** The messages are longer than the model reads. */
export class ContextLengthError extends ProviderError {
  /** As far as the endpoint told or the configuration says. */
  readonly contextTokens: number | null;
  readonly requestedTokens: number | null;

  constructor(message: string, details: { contextTokens: number | null; requestedTokens: number | null }) {
    super(message);
    this.contextTokens = details.contextTokens;
    this.requestedTokens = details.requestedTokens;
  }
}
