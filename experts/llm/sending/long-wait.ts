import type { CallFailure } from '../call-failure.ts';
import type { Endpoint } from '../endpoint.ts';

/** A wait that looks as if nothing happened any more. */
const LONG_WAIT_MS = 5000;

/** What an endpoint does that makes a request wait long before it is sent again; null for any other failure. */
export function longWait({ kind, status, isRetryable, retryAfterMs }: CallFailure, endpoint: Endpoint): string | null {
  const waitMs = kind === 'timeout' ? endpoint.timeoutMs : (retryAfterMs ?? 0);
  if (!isRetryable || waitMs < LONG_WAIT_MS) return null;
  return kind === 'timeout'
    ? `did not answer in time (timeoutMs: ${waitMs})`
    : `asks to wait ${Math.ceil(waitMs / 1000)} s (status ${status})`;
}
