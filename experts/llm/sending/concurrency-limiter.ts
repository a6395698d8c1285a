import PQueue from 'p-queue';
import { callFailureOf } from '../call-failure.ts';

/** Parallel requests at first: enough for speed, few enough for a server on this machine. */
const INITIAL = 8;

/**
 * Limits the parallel requests to an endpoint by additive increase and multiplicative decrease, as in TCP. A window of
 * successes raises the limit by one; congestion halves it. Requests that were in progress then do not halve it again,
 * because they report the same congestion.
 */
export class ConcurrencyLimiter {
  private readonly most: number;
  private readonly queue: PQueue;
  private exact: number;
  private generation = 0;
  private pausedUntilMs = 0;
  private wake: NodeJS.Timeout | null = null;

  constructor(most: number) {
    this.most = most;
    this.exact = Math.min(INITIAL, most);
    this.queue = new PQueue({ concurrency: this.limit });
  }

  get limit(): number {
    return Math.floor(this.exact);
  }

  /** Sends a request in its turn. Before that, an abort rejects with the signal's reason. */
  async run<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    // The queue drops an aborted task even while it runs, but a sent request is paid for.
    const waiting = new AbortController();
    const onAbort = () => waiting.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const task = () => {
      signal.removeEventListener('abort', onAbort);
      return this.observed(request);
    };
    const answer = this.queue.add(task, { signal: waiting.signal });
    this.holdProcess();
    return answer.finally(() => this.holdProcess());
  }

  /** Sends nothing new for this long: the server asks all requests to wait, not only the refused one. */
  pause(milliseconds: number): void {
    const untilMs = performance.now() + milliseconds;
    if (untilMs <= this.pausedUntilMs) return;
    this.pausedUntilMs = untilMs;
    this.queue.pause();
    if (this.wake !== null) clearTimeout(this.wake);
    this.wake = setTimeout(() => this.queue.start(), milliseconds);
    this.holdProcess();
  }

  private async observed<T>(request: () => Promise<T>): Promise<T> {
    const { generation } = this;
    try {
      const answer = await request();
      // Raise a limit only if it was reached: an idle endpoint proves nothing.
      if (this.queue.pending >= this.limit) this.exact = Math.min(this.most, this.exact + 1 / this.exact);
      return answer;
    } catch (error) {
      if (generation === this.generation && (await callFailureOf(error))?.isCongestion) {
        this.generation++;
        this.exact = Math.max(1, Math.floor(this.exact / 2));
      }
      throw error;
    } finally {
      this.queue.concurrency = this.limit;
    }
  }

  /** The timer of a pause keeps the process alive only for waiting requests. */
  private holdProcess(): void {
    if (this.queue.size > 0) this.wake?.ref();
    else this.wake?.unref();
  }
}
