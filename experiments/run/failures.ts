import { InputError, ProviderError } from '../../src/errors.ts';
import type { TrialFailure } from './trial.ts';

/** How bad an error is, as exit codes go: 1 the user's input, 2 a service, 3 a defect. */
export function severityOf(error: unknown): 1 | 2 | 3 {
  if (error instanceof InputError) return 1;
  return error instanceof ProviderError ? 2 : 3;
}

/** Tells of trials that fail as they do, and of what fails many of them alike once. */
export function failureTeller(tell: (line: string) => void): (label: string, failure: TrialFailure) => void {
  const messages = new Set<string>();
  return (label, failure) => {
    if (messages.has(failure.message)) return;
    messages.add(failure.message);
    tell(`failed: ${label}: ${headlineOf(failure)}`);
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
  const worst = Math.max(...failures.map(({ severity }) => severity));
  if (worst === 1) return new InputError(message);
  if (worst === 2) return new ProviderError(message);
  const defect = new Error(message);
  // Of the trials: the stack of this place would say nothing.
  const stacks = failures.flatMap((failure) => (failure.severity === 3 ? [failure.message] : []));
  defect.stack = [...new Set([message, ...stacks])].join('\n');
  return defect;
}
