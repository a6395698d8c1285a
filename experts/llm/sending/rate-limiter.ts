import { sleep } from '../../../src/sleep.ts';

const MINUTE_MS = 60_000;

/** How fast the pace that was learnt from refusals picks up again with every answer. */
const RECOVERY = 0.95;

/**
 * Spaces the requests to an endpoint: evenly, at the rates that it is known to allow, and further apart after it said
 * that requests come too fast without saying how long to wait. Each such refusal doubles the distance, and each answer
 * makes it a little shorter. Fewer requests at the same time would not do: a fast endpoint answers many in a row.
 */
export class RateLimiter {
  private readonly requestMs: number;
  private readonly tokenMs: number;
  private readonly stepMs: number;
  private readonly capMs: number;
  private learntMs = 0;
  private nextAtMs = 0;
  private refusedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: {
    requestsPerMinute: number | null;
    tokensPerMinute: number | null;
    /** The distance after the first refusal, and the largest one, in milliseconds. */
    stepMs: number;
    capMs: number;
  }) {
    const { requestsPerMinute, tokensPerMinute, stepMs, capMs } = options;
    this.requestMs = requestsPerMinute === null ? 0 : MINUTE_MS / requestsPerMinute;
    this.tokenMs = tokensPerMinute === null ? 0 : MINUTE_MS / tokensPerMinute;
    this.stepMs = stepMs;
    this.capMs = capMs;
  }

  /**
   * Resolves when the request may be sent; rejects with the signal's reason when that is aborted first.
   * @param request.tokens the most that it may take
   */
  async admit({ tokens, signal }: { tokens: number; signal: AbortSignal | null }): Promise<void> {
    const now = performance.now();
    const atMs = Math.max(now, this.nextAtMs);
    this.nextAtMs = atMs + Math.max(this.requestMs, tokens * this.tokenMs, this.learntMs);
    if (atMs > now) await sleep(Math.ceil(atMs - now), signal);
    signal?.throwIfAborted();
  }

  /** Tokens that a request was admitted with but did not take; the next ones may be sent earlier. */
  giveBack(tokens: number): void {
    this.nextAtMs -= Math.max(0, tokens * this.tokenMs - Math.max(this.requestMs, this.learntMs));
  }

  /** The endpoint was asked too fast. Requests that were under way then tell of the same thing, so they do not count. */
  refused(): void {
    const now = performance.now();
    if (now - this.refusedAtMs < this.learntMs) return;
    this.refusedAtMs = now;
    this.learntMs = Math.min(this.capMs, Math.max(this.stepMs, 2 * this.learntMs));
    this.nextAtMs = Math.max(this.nextAtMs, now + this.learntMs);
  }

  answered(): void {
    this.learntMs *= RECOVERY;
    if (this.learntMs < this.stepMs / 2) this.learntMs = 0;
  }
}
