import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AnnotationRow } from './annotation-row.ts';

/** Rows are committed after this time at the latest, or when there are this many of them. */
const INTERVAL_MS = 50;
const ROWS = 500;

/**
 * Gathers rows, so that a fast detector need not wait for a transaction a row and a killed process still loses next
 * to nothing.
 */
export class CommitQueue {
  private readonly store: { putMany(rows: readonly AnnotationRow[]): number };
  private readonly onFailure: (error: unknown) => void;
  /** Whether a question had another answer already, which stays. */
  hasLost = false;
  private rows: AnnotationRow[] = [];
  private lastCommit = performance.now();
  private timer: NodeJS.Timeout | null = null;
  private failure: unknown = null;

  /** @param options.onFailure is told at once when rows cannot be stored, for a timer has nobody to throw it at */
  constructor(options: {
    store: { putMany(rows: readonly AnnotationRow[]): number };
    onFailure: (error: unknown) => void;
  }) {
    this.store = options.store;
    this.onFailure = options.onFailure;
  }

  add(row: AnnotationRow): void {
    this.rows.push(row);
    // A slow detector's next answer may be minutes away.
    this.timer ??= setTimeout(() => this.commitOnTimer(), INTERVAL_MS);
  }

  async commitWhenDue(): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (this.rows.length < ROWS && performance.now() - this.lastCommit < INTERVAL_MS) return;
    this.commit();
    // With a detector that never waits, nothing else would let Ctrl-C be heard.
    await nextTurn();
  }

  /** Commits what is there now. */
  flush(): void {
    if (this.failure !== null) throw this.failure;
    if (this.rows.length > 0) this.commit();
  }

  /**
   * Commits what is left.
   * @throws whatever an earlier commit on the timer failed with
   */
  close(): void {
    if (this.failure !== null) throw this.failure;
    this.commit();
  }

  private commit(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const rows = this.rows;
    this.rows = [];
    try {
      if (this.store.putMany(rows) < rows.length) this.hasLost = true;
    } catch (error) {
      this.failure = error;
      this.onFailure(error);
      throw error;
    }
    this.lastCommit = performance.now();
  }

  /** Nobody awaits a timer; its failure is kept for the next call. */
  private commitOnTimer(): void {
    try {
      this.commit();
    } catch {
      // In `failure`.
    }
  }
}
