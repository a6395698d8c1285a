import { InputError, ProviderError } from '../../src/errors.ts';

/** How bad an error is, as exit codes go: 1 the user's input, 2 a service, 3 a defect. */
export function severityOf(error: unknown): 1 | 2 | 3 {
  if (error instanceof InputError) return 1;
  return error instanceof ProviderError ? 2 : 3;
}
