/** A wait that looks as if nothing happened any more. */
const LONG_WAIT_MS = 5000;

/** What requests wait for, the most telling first. */
const KINDS = ['endpoint', 'pace', 'budget', 'answer', 'process'] as const;
type WaitKind = (typeof KINDS)[number];

interface Wait {
  readonly kind: WaitKind;
  readonly what: string;
  readonly sinceMs: number;
  /** When it is over by itself; infinite where somebody ends it. */
  readonly untilMs: number;
}

/** Knows what requests wait for, so that no run waits in silence. */
export class Waits {
  private readonly open = new Set<Wait>();
  private answeredMs = performance.now();

  /**
   * @param wait.forMs ends it after that time; otherwise the returned function does
   */
  begin({
    kind,
    what,
    forMs = Number.POSITIVE_INFINITY,
  }: {
    kind: WaitKind;
    what: string;
    forMs?: number;
  }): () => void {
    const sinceMs = performance.now();
    const wait = { kind, what, sinceMs, untilMs: sinceMs + forMs };
    this.open.add(wait);
    return () => this.open.delete(wait);
  }

  /** An answer came: what still waits is one of many. */
  answered(): void {
    this.answeredMs = performance.now();
  }

  /** What has been waited for since more than 5 s without an answer, as in "waiting 12 s for …"; null where nothing has. */
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
