import { InputError, ProviderError } from '../../src/errors.ts';
import type { TrialFailure } from './trial.ts';

/** How bad an error is, as exit codes go: 1 the user's input, 2 a service, 3 a defect. */
export function severityOf(error: unknown): 1 | 2 | 3 {
  if (error instanceof InputError) return 1;
  return error instanceof ProviderError ? 2 : 3;
}

/** Tells of each topic once, such as of what fails many trials alike. */
export function tellingOnce(tell: (line: string) => void): (line: string, topic?: string) => void {
  const topics = new Set<string>();
  return (line, topic = line) => {
    if (!topics.has(topic)) tell(line);
    topics.add(topic);
  };
}

/** The message of a failure. That of a defect is a stack, which is told at the end. */
export function headlineOf({ severity, message }: Omit<TrialFailure, 'how'>): string {
  return severity === 3 ? message.split('\n', 1)[0] : message;
}

/** `2 of 6 runs failed (paper, seed 1, …)`. */
export function failedCount(
  failed: readonly { readonly label: string }[],
  of: { total: number; what: string },
): string {
  return `${failed.length} of ${of.total} ${of.what} failed (${failed[0].label}${failed.length > 1 ? ', …' : ''})`;
}

/** The error of a command whose trials failed, as bad as the worst of them. */
export function failureOf(failures: readonly Omit<TrialFailure, 'how'>[], message: string): Error {
  const error = errorOf(Math.max(...failures.map(({ severity }) => severity)), message);
  // Of the trials: the stack of this place would say nothing.
  const stacks = failures.flatMap((failure) => (failure.severity === 3 ? [failure.message] : []));
  if (severityOf(error) === 3) error.stack = [...new Set([message, ...stacks])].join('\n');
  return error;
}

/** The error of an exit code. */
export function errorOf(code: number | null, message: string): Error {
  if (code === 1) return new InputError(message);
  return code === 2 ? new ProviderError(message) : new Error(message);
}
