/** A wait that the user should hear about. */
const LONG_WAIT_MS = 5000;

/** Causes of waiting, the most informative first. */
const KINDS = ['endpoint', 'pace', 'budget', 'answer', 'process'] as const;

interface WaitCause {
  readonly kind: (typeof KINDS)[number];
  readonly what: string;
}

interface Wait extends WaitCause {
  readonly sinceMs: number;
  /** The time when the wait ends by itself; infinite if something else ends it. */
  readonly untilMs: number;
}

/** Records the waits of requests, so that no run waits in silence. */
export class Waits {
  private readonly open = new Set<Wait>();
  private answeredMs = performance.now();

  /** @param wait.forMs duration of the wait; otherwise the returned function ends it */
  begin({ forMs = Number.POSITIVE_INFINITY, ...cause }: WaitCause & { forMs?: number }): () => void {
    const sinceMs = performance.now();
    const wait = { ...cause, sinceMs, untilMs: sinceMs + forMs };
    this.open.add(wait);
    return () => this.open.delete(wait);
  }

  /** Reports an answer: the other waits are not the only activity. */
  answered(): void {
    this.answeredMs = performance.now();
  }

  /** The longest wait, if no answer came for 5 s, as in "waiting 12 s for …"; null without one. */
  inWords(): string | null {
    const now = performance.now();
    for (const wait of this.open) if (wait.untilMs <= now) this.open.delete(wait);
    const silentMs = now - this.answeredMs;
    const [longest] = [...this.open].sort(
      (one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind) || one.sinceMs - other.sinceMs,
    );
    if (longest === undefined || silentMs < LONG_WAIT_MS || now - longest.sinceMs < LONG_WAIT_MS) return null;
    return `waiting ${Math.floor((now - longest.sinceMs) / 1000)} s for ${longest.what}`;
  }
}
