import { z } from 'zod';
import { sleep } from '../../../src/sleep.ts';
import type { Random } from '../../../src/tensor/random.ts';
import { CallFailure, callFailureOf } from '../call-failure.ts';

export const retrySchema = z
  .strictObject({
    maxAttempts: z.number().int().positive().default(6),
    baseMs: z
      .number()
      .nonnegative()
      .default(500)
      .describe('the first wait is between 0 and this; the bound doubles each time'),
    capMs: z.number().nonnegative().default(30_000).describe('upper bound of our own waits'),
    maxWaitMs: z
      .number()
      .nonnegative()
      .default(300_000)
      .describe('longest wait that a server may demand of a request; a longer one ends the run'),
  })
  .describe('what happens after a failed request');

export type RetryPolicy = z.infer<typeof retrySchema>;

/** The last failure, after which no attempt is made. */
export class RetriesEndedError extends Error {
  readonly failure: CallFailure;
  readonly attempts: number;
  /** The waiting time that the server asked for, over all failures. */
  readonly askedMs: number;

  constructor(options: { failure: CallFailure; attempts: number; askedMs: number }) {
    super(options.failure.message);
    this.failure = options.failure;
    this.attempts = options.attempts;
    this.askedMs = options.askedMs;
  }
}

/**
 * Retries until the attempt succeeds, fails for good, the attempts are used up, or the server asks for a longer wait
 * than the user allows. Errors that are not call failures pass through.
 * @throws RetriesEndedError with the last failure
 */
export async function withRetries<T>(options: {
  attempt: () => Promise<T>;
  policy: RetryPolicy;
  random: Random;
  signal: AbortSignal | null;
  /** Whether another attempt is pointless. */
  isFinal?: (failure: CallFailure) => boolean;
  /** Called before each wait; returns a function that is called after it. */
  onWait?: ((failure: CallFailure) => () => void) | undefined;
}): Promise<T> {
  const { attempt, policy, random, signal, isFinal, onWait } = options;
  let askedMs = 0;
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      const failure = await callFailureOf(error);
      if (failure === null) throw error;
      askedMs += failure.retryAfterMs ?? 0;
      const isLast = attempts >= Math.min(policy.maxAttempts, failure.mostAttempts) || askedMs > policy.maxWaitMs;
      if (isLast || !failure.isRetryable || isFinal?.(failure))
        throw new RetriesEndedError({ failure, attempts, askedMs });
      const waited = onWait?.(failure);
      await sleep(waitMs({ failure, attempts, policy, random }), signal).finally(waited);
    }
  }
}

/** Runs one attempt. @throws CallFailure, of kind `timeout` if it takes too long; the signal's reason after an abort */
export async function withinTime<T>(options: {
  timeoutMs: number;
  signal: AbortSignal | null;
  work: (signal: AbortSignal) => Promise<T>;
}): Promise<T> {
  const { timeoutMs, signal, work } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await work(signal ? AbortSignal.any([signal, timeout]) : timeout);
  } catch (error) {
    signal?.throwIfAborted();
    if (timeout.aborted) throw new CallFailure({ kind: 'timeout', message: `no answer after ${timeoutMs} ms` });
    throw (await callFailureOf(error)) ?? error;
  }
}

const RATE_LIMIT_FACTOR = 4;

/**
 * Exponential backoff with full jitter: uniform between zero and the exponential bound, so that requests refused
 * together do not come back together. The server's own time is a lower bound, plus the first step's jitter. After a
 * rate limit without one, waits are four times as long and at least half of their bound, because most services count
 * limits by the minute.
 */
export function waitMs(options: {
  failure: Pick<CallFailure, 'retryAfterMs' | 'kind'>;
  attempts: number;
  policy: RetryPolicy;
  random: Pick<Random, 'uniform'>;
}): number {
  const { failure, attempts, policy, random } = options;
  if (failure.retryAfterMs !== null) return failure.retryAfterMs + random.uniform() * policy.baseMs;
  const bound = Math.min(policy.capMs, policy.baseMs * 2 ** (attempts - 1));
  if (failure.kind !== 'rate-limit') return random.uniform() * bound;
  return (0.5 + random.uniform() / 2) * Math.min(policy.capMs, RATE_LIMIT_FACTOR * bound);
}
