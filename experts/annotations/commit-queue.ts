import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Judgement } from '../detector.ts';
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
  private readonly rows = new Map<string, AnnotationRow>();
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

  add(key: string, row: AnnotationRow): void {
    this.rows.set(key, row);
    // A slow detector's next answer may be minutes away.
    this.timer ??= setTimeout(() => this.commitOnTimer(), INTERVAL_MS);
  }

  /** What waits for its commit, or could not be committed. */
  get keys(): string[] {
    return [...this.rows.keys()];
  }

  find(key: string): Judgement | undefined {
    return this.rows.get(key)?.judgement;
  }

  async commitWhenDue(): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (this.rows.size < ROWS && performance.now() - this.lastCommit < INTERVAL_MS) return;
    this.flush();
    // With a detector that never waits, nothing else would let Ctrl-C be heard.
    await nextTurn();
  }

  /**
   * Commits what is there now.
   * @throws whatever an earlier commit on the timer failed with
   */
  flush(): void {
    if (this.failure !== null) throw this.failure;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (this.rows.size === 0) return;
    try {
      if (this.store.putMany([...this.rows.values()]) < this.rows.size) this.hasLost = true;
      this.rows.clear();
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
      this.flush();
    } catch {
      // In `failure`.
    }
  }
}
