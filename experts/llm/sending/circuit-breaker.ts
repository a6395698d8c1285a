import type { CallFailure, CallFailureKind } from '../call-failure.ts';
import { EndpointUnusableError } from '../failures.ts';

/** Equal failures before the first answer that show that no answer will come. */
const FAILURES_ALIKE = 10;

/**
 * Detects an endpoint that cannot answer at all: a login page, a refused parameter, an unknown model. Before the first
 * answer, equal failures are counted, and the tenth ends all calls. A failing server counts once a call is given up,
 * with all its attempts. After the first answer it never trips, because a later failure may concern one text only.
 */
export class CircuitBreaker {
  private hasAnswered = false;
  private hasFailed = false;
  private alike = 0;
  private requests = 0;
  private last = '';
  private opened: string | null = null;

  /** @throws EndpointUnusableError after it tripped */
  check(): void {
    if (this.opened !== null) throw new EndpointUnusableError(this.opened);
  }

  /** Whether all requests so far failed. */
  get isFailing(): boolean {
    return this.hasFailed && !this.hasAnswered;
  }

  answered(): void {
    this.hasAnswered = true;
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
    const weight = isFinal === (failure.kind === 'malformed') ? 0 : weightOf(failure, attempts);
    if (this.hasAnswered || this.opened !== null || weight === 0) return;
    // Numbers and quoted texts differ between failures of one kind.
    const kind = `${failure.kind} ${failure.status} ${failure.message.replace(/"[^"]*"|\d+/g, '#').slice(0, 200)}`;
    if (kind !== this.last) this.alike = this.requests = 0;
    this.alike += weight;
    this.requests += attempts;
    this.last = kind;
    if (this.alike >= FAILURES_ALIKE)
      this.opened = `the first ${this.requests} requests all failed alike, so nothing more is sent: ${message}`;
  }
}

/** The number of failures that a failure counts as. Any other kind is a single case or ends all calls anyway. */
function weightOf({ kind }: CallFailure, attempts: number): number {
  if (kind === 'server' || kind === 'connection') return attempts;
  return CONCERNING_ALL.includes(kind) ? 1 : 0;
}

const CONCERNING_ALL: readonly CallFailureKind[] = [
  'malformed',
  'no-completion',
  'bad-request',
  'forbidden',
  'no-answer',
  'rate-limit',
  'timeout',
];
