import { sleep } from '../../../src/sleep.ts';

const MINUTE_MS = 60_000;

/** The factor by which each answer shortens the distance between requests. */
const RECOVERY = 0.95;

/**
 * Spaces the requests to an endpoint: evenly at its known rates, and further apart after refusals that name no waiting
 * time. Each such refusal doubles the distance, and each answer shortens it a little. Fewer parallel requests would not
 * help, because a fast endpoint answers many in a row.
 */
export function rateLimiter(options: {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  /** The distance after the first refusal, and the largest one, in milliseconds. */
  stepMs: number;
  capMs: number;
}) {
  const { requestsPerMinute, tokensPerMinute, stepMs, capMs } = options;
  const requestMs = requestsPerMinute === null ? 0 : MINUTE_MS / requestsPerMinute;
  const tokenMs = tokensPerMinute === null ? 0 : MINUTE_MS / tokensPerMinute;
  let learntMs = 0;
  let nextAtMs = 0;
  let refusedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Resolves when the request may be sent; rejects with the signal's reason after an abort.
   * @param request.tokens the most that the request may take
   */
  async function admit({ tokens, signal }: { tokens: number; signal: AbortSignal | null }): Promise<void> {
    const now = performance.now();
    const atMs = Math.max(now, nextAtMs);
    nextAtMs = atMs + Math.max(requestMs, tokens * tokenMs, learntMs);
    if (atMs > now) await sleep(Math.ceil(atMs - now), signal);
    signal?.throwIfAborted();
  }

  /** Returns unused tokens, so that the next requests may be sent earlier. */
  function giveBack(tokens: number): void {
    nextAtMs -= Math.max(0, tokens * tokenMs - Math.max(requestMs, learntMs));
  }

  /** Reports a refusal for too many requests. Refusals of requests that were in progress then count as the same one. */
  function refused(): void {
    const now = performance.now();
    if (now - refusedAtMs < learntMs) return;
    refusedAtMs = now;
    learntMs = Math.min(capMs, Math.max(stepMs, 2 * learntMs));
    nextAtMs = Math.max(nextAtMs, now + learntMs);
  }

  function answered(): void {
    learntMs *= RECOVERY;
    if (learntMs < stepMs / 2) learntMs = 0;
  }

  return { admit, giveBack, refused, answered };
}

export type RateLimiter = ReturnType<typeof rateLimiter>;
