import { setMaxListeners } from 'node:events';
import type { CallFailure } from '../call-failure.ts';
import type { Endpoint } from '../endpoint.ts';
import { EndpointUnusableError } from '../failures.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { type EndpointCapabilities, endpointCapabilities } from './endpoint-capabilities.ts';
import { type RateLimiter, rateLimiter } from './rate-limiter.ts';
import type { RetryPolicy } from './retry.ts';

/** Equal failures before the first answer that show that no answer will come. */
const FAILURES_ALIKE = 10;

/**
 * The limits that all calls to one model at one address share. It also detects an endpoint that cannot answer at all: a
 * login page, a refused parameter, an unknown model. Before the first answer, equal failures are counted, and the tenth
 * ends all calls. A failing server counts once a call is given up, with all its attempts. After the first answer this
 * never happens, because a later failure may concern one text only.
 */
export class EndpointLine {
  /** Identifies the model at its address. */
  readonly key: string;
  readonly capabilities: EndpointCapabilities;
  readonly limiter: ConcurrencyLimiter;
  readonly rate: RateLimiter;
  answers = 0;
  private ending = endingController();
  private hasFailed = false;
  private alike = 0;
  private requests = 0;
  private last = '';
  private unusable: string | null = null;

  constructor(endpoint: Endpoint, { policy, onNote }: { policy: RetryPolicy; onNote: (line: string) => void }) {
    const { requestsPerMinute, tokensPerMinute, concurrency } = endpoint;
    const { baseMs, capMs } = policy;
    this.key = lineKey(endpoint);
    this.capabilities = endpointCapabilities(endpoint, onNote);
    this.limiter = new ConcurrencyLimiter(concurrency);
    this.rate = rateLimiter({ requestsPerMinute, tokensPerMinute, stepMs: baseMs / 5, capMs });
  }

  /** @throws EndpointUnusableError if no answer will come */
  check(): void {
    if (this.unusable !== null) throw new EndpointUnusableError(this.unusable);
  }

  /** Whether all requests so far failed. */
  get isFailing(): boolean {
    return this.hasFailed && this.answers === 0;
  }

  /** Aborted when no call can be answered any more. */
  get ended(): AbortSignal {
    return this.ending.signal;
  }

  /** Ends all waiting calls. Later ones start afresh, because a service may be running for long. */
  end(error: EndpointUnusableError): void {
    const { ending } = this;
    this.ending = endingController();
    ending.abort(error);
  }

  answered(): void {
    this.answers++;
    this.rate.answered();
  }

  /**
   * Counts a failure. `isFinal` marks a call that is given up. An unreadable body counts with every attempt, because
   * the next one is hardly better; other failures count only at the end.
   */
  failed(
    failure: CallFailure,
    { isFinal, attempts, message }: { isFinal: boolean; attempts: number; message: string },
  ): void {
    this.hasFailed = true;
    const isUnreadable = failure.kind === 'malformed' || failure.kind === 'empty';
    const weight = isFinal === isUnreadable ? 0 : weightOf(failure, attempts);
    if (this.answers > 0 || this.unusable !== null || weight === 0) return;
    // Numbers and quoted texts differ between failures of one kind.
    const kind = `${failure.kind} ${failure.status} ${failure.message.replace(/"[^"]*"|\d+/g, '#').slice(0, 200)}`;
    if (kind !== this.last) this.alike = this.requests = 0;
    this.alike += weight;
    this.requests += attempts;
    this.last = kind;
    if (this.alike >= FAILURES_ALIKE)
      this.unusable = `the first ${this.requests} requests all failed alike, so nothing more is sent: ${message}`;
  }
}

/** Identifies one model at one address. */
export function lineKey({ baseURL, model }: Endpoint): string {
  return JSON.stringify([baseURL, model]);
}

/** Many requests listen to the signal, so many listeners are no leak. */
function endingController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** The number of failures that a failure counts as. Any other kind is a single case or ends all calls anyway. */
function weightOf({ kind, concerns }: CallFailure, attempts: number): number {
  if (kind === 'server' || kind === 'connection') return attempts;
  return concerns === 'perhaps all' ? 1 : 0;
}
