import type { CallFailure } from '../call-failure.ts';
import { EndpointUnusableError } from '../failures.ts';

/** So many failed requests alike before the first answer say that there will be none. */
const FAILURES_ALIKE = 10;

/**
 * Notices that an endpoint cannot answer at all: a login page in its place, a parameter that it refuses, a model that it
 * does not serve. As long as nothing was answered, failures that are all alike are counted, and the tenth ends all calls.
 * A broken server counts once a call was given up, with all its attempts. After the first answer it never trips, because a
 * later failure may concern one text only.
 */
export class CircuitBreaker {
  private hasAnswered = false;
  private hasFailed = false;
  private alike = 0;
  private requests = 0;
  private last = '';
  private opened: string | null = null;

  /** @throws EndpointUnusableError where it has tripped: nothing more is to be sent */
  check(): void {
    if (this.opened !== null) throw new EndpointUnusableError(this.opened);
  }

  /** Whether all that came so far are failures. */
  get isFailing(): boolean {
    return this.hasFailed && !this.hasAnswered;
  }

  answered(): void {
    this.hasAnswered = true;
  }

  /**
   * Counts a failure. `isFinal`: the call was given up. A body that cannot be read counts with every attempt, since the
   * next one is hardly better; anything else only when nothing was left to try.
   */
  failed(
    failure: CallFailure,
    { isFinal, attempts, message }: { isFinal: boolean; attempts: number; message: string },
  ): void {
    this.hasFailed = true;
    const weight = isFinal === (failure.kind === 'malformed') ? 0 : weightOf(failure, attempts);
    if (this.hasAnswered || this.opened !== null || weight === 0) return;
    // Numbers differ from one text to the next, and so do the texts that a server quotes.
    const kind = `${failure.kind} ${failure.status} ${failure.message.replace(/"[^"]*"|\d+/g, '#').slice(0, 200)}`;
    if (kind !== this.last) this.alike = this.requests = 0;
    this.alike += weight;
    this.requests += attempts;
    this.last = kind;
    if (this.alike >= FAILURES_ALIKE)
      this.opened = `the first ${this.requests} requests all failed alike, so nothing more is sent: ${message}`;
  }
}

/** How many failures a failure stands for. */
function weightOf({ kind }: CallFailure, attempts: number): number {
  switch (kind) {
    case 'server':
    case 'connection':
      return attempts;
    case 'malformed':
    case 'no-completion':
    case 'bad-request':
    case 'forbidden':
    case 'no-answer':
    case 'rate-limit':
    case 'timeout':
      return 1;
    default:
      // A text that is too long or filtered is one text. Key, quota and model end all calls anyway.
      return 0;
  }
}
