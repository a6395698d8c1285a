import { performance } from 'node:perf_hooks';

export interface Permit {
  /** Ends the request. `congested`: the endpoint was overloaded. `neutral`: nothing was learned about it. */
  release(outcome: 'success' | 'congested' | 'neutral'): void;
}

interface WaitingRequest {
  readonly admit: (permit: Permit) => void;
}

/** Parallel requests at first: enough for speed, few enough for a server on this machine. */
const INITIAL = 8;

/**
 * Limits the parallel requests to an endpoint by additive increase and multiplicative decrease, as in TCP. A window of
 * successes raises the limit by one; congestion halves it. Requests that were in progress then do not halve it again,
 * because they report the same congestion.
 */
export class ConcurrencyLimiter {
  private exact: number;
  private underWay = 0;
  private generation = 0;
  private pausedUntilMs = 0;
  private wake: NodeJS.Timeout | null = null;
  private readonly most: number;
  private readonly queue = new Set<WaitingRequest>();

  constructor(most: number) {
    this.most = most;
    this.exact = Math.min(INITIAL, most);
  }

  get limit(): number {
    return Math.floor(this.exact);
  }

  /** Resolves in the order of the calls; rejects with the signal's reason after an abort. */
  acquire(signal: AbortSignal | null): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.queue.delete(waiting);
        if (this.queue.size === 0) this.stopWaking();
        reject(signal?.reason);
      };
      const waiting: WaitingRequest = {
        admit: (permit) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(permit);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.queue.add(waiting);
      this.admit();
    });
  }

  /** Admits nothing new for this long: the server asks all requests to wait, not only the refused one. */
  pause(milliseconds: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, performance.now() + milliseconds);
  }

  private admit(): void {
    const pauseMs = this.pausedUntilMs - performance.now();
    if (pauseMs > 0) {
      if (this.queue.size === 0 || this.wake !== null) return;
      this.wake = setTimeout(() => {
        this.wake = null;
        this.admit();
      }, pauseMs);
      return;
    }
    for (const waiting of this.queue) {
      if (this.underWay >= this.limit) return;
      this.queue.delete(waiting);
      this.underWay++;
      waiting.admit(this.permit());
    }
  }

  /** A timer without waiting requests would keep the process alive. */
  private stopWaking(): void {
    if (this.wake !== null) clearTimeout(this.wake);
    this.wake = null;
  }

  private permit(): Permit {
    const generation = this.generation;
    let isHeld = true;
    return {
      release: (outcome) => {
        if (!isHeld) return;
        isHeld = false;
        // Raise a limit only if it was reached: an idle endpoint proves nothing.
        const isFull = this.underWay >= this.limit;
        this.underWay--;
        if (outcome === 'success' && isFull) this.exact = Math.min(this.most, this.exact + 1 / this.exact);
        if (outcome === 'congested' && generation === this.generation) {
          this.generation++;
          this.exact = Math.max(1, Math.floor(this.exact / 2));
        }
        this.admit();
      },
    };
  }
}
