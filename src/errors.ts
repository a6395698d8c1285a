/** The user's input is wrong; the message says what, the value seen and what to do. Exit code 1. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** A service that was called failed for good; the message says which, how and what to do. Exit code 2. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}
