import { sleep } from '../../../src/sleep.ts';

const MINUTE_MS = 60_000;

/** How fast the pace that was learnt from refusals picks up again with every answer. */
const RECOVERY = 0.95;

/**
 * Spaces the requests to an endpoint: evenly, at the rates that it is known to allow, and further apart after it said
 * that requests come too fast without saying how long to wait. Each such refusal doubles the distance, and each answer
 * makes it a little shorter. Fewer requests at the same time would not do: a fast endpoint answers many in a row.
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
   * Resolves when the request may be sent; rejects with the signal's reason when that is aborted first.
   * @param request.tokens the most that it may take
   */
  async function admit({ tokens, signal }: { tokens: number; signal: AbortSignal | null }): Promise<void> {
    const now = performance.now();
    const atMs = Math.max(now, nextAtMs);
    nextAtMs = atMs + Math.max(requestMs, tokens * tokenMs, learntMs);
    if (atMs > now) await sleep(Math.ceil(atMs - now), signal);
    signal?.throwIfAborted();
  }

  /** Tokens that a request was admitted with but did not take; the next ones may be sent earlier. */
  function giveBack(tokens: number): void {
    nextAtMs -= Math.max(0, tokens * tokenMs - Math.max(requestMs, learntMs));
  }

  /** The endpoint was asked too fast. Requests that were under way then tell of the same thing, so they do not count. */
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
