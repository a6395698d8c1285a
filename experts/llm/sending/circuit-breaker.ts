import type { CallFailure } from '../call-failure.ts';
import { EndpointUnusableError } from '../failures.ts';

/** So many failures alike before the first answer say that there will be none. */
const FAILURES_ALIKE = 10;

/**
 * Notices that an endpoint cannot answer at all: a login page in its place, a parameter that it refuses, a model that it
 * does not serve. As long as nothing was answered, failures that are all alike are counted, and the tenth ends all calls.
 * After the first answer it never trips, because a later failure may concern one text only.
 */
export class CircuitBreaker {
  private hasAnswered = false;
  private alike = 0;
  private last = '';
  private opened: string | null = null;

  /** @throws EndpointUnusableError where it has tripped: nothing more is to be sent */
  check(): void {
    if (this.opened !== null) throw new EndpointUnusableError(this.opened);
  }

  answered(): void {
    this.hasAnswered = true;
  }

  /**
   * Counts a failure. `isFinal`: the call was given up. A body that cannot be read counts with every attempt, since the
   * next one is hardly better; anything else only when nothing was left to try.
   */
  failed(failure: CallFailure, { isFinal, message }: { isFinal: boolean; message: string }): void {
    if (this.hasAnswered || this.opened !== null || !this.counts(failure, isFinal)) return;
    // Numbers differ from one text to the next, and so do the texts that a server quotes.
    const kind = `${failure.kind} ${failure.status} ${failure.message.replace(/"[^"]*"|\d+/g, '#').slice(0, 200)}`;
    this.alike = kind === this.last ? this.alike + 1 : 1;
    this.last = kind;
    if (this.alike >= FAILURES_ALIKE)
      this.opened = `the first ${FAILURES_ALIKE} requests all failed alike, so nothing more is sent: ${message}`;
  }

  private counts({ kind }: CallFailure, isFinal: boolean): boolean {
    switch (kind) {
      case 'malformed':
        return !isFinal;
      case 'bad-request':
      case 'forbidden':
      case 'server':
      case 'connection':
      case 'no-answer':
        return isFinal;
      default:
        // Load passes, and a text that is too long or filtered is one text. Key, quota and model end all calls anyway.
        return false;
    }
  }
}
