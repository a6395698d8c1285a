import { describe, expect, it } from 'vitest';
import { failureOf, headlineOf, tellingOnce } from '../../../experiments/run/failures.ts';
import type { TrialFailure } from '../../../experiments/run/trial.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';

const failure = (severity: TrialFailure['severity'], message: string) =>
  ({ how: 'failed', severity, message }) as const;

describe('what failed', () => {
  it('is told when it does, and what failed alike once, the stack of a defect not at all', () => {
    const lines: string[] = [];
    const tell = tellingOnce((line) => lines.push(line));
    tell('seed 1: no such file', 'no such file');
    tell('seed 2: no such file', 'no such file');
    tell('a note');
    tell('a note');
    expect(lines).toEqual(['seed 1: no such file', 'a note']);
    expect(headlineOf(failure(3, 'TypeError: x\n    at y'))).toBe('TypeError: x');
  });

  it('ends a command as the worst does: a defect before a provider before wrong input', () => {
    const input = failure(1, 'no such file');
    expect(failureOf([input], 'it failed')).toBeInstanceOf(InputError);
    expect(failureOf([failure(2, 'busy'), input], 'they failed')).toBeInstanceOf(ProviderError);
    const defect = failureOf([input, failure(3, 'TypeError: x\n    at y'), failure(2, 'busy')], 'they failed');
    expect(defect).not.toBeInstanceOf(InputError);
    expect(defect).not.toBeInstanceOf(ProviderError);
    expect(defect).toMatchObject({ message: 'they failed', stack: 'they failed\nTypeError: x\n    at y' });
  });
});
