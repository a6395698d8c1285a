import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AnnotationRow } from './annotation-row.ts';

/** Answers wait at most this long, and at most so many of them, before they are committed. */
const INTERVAL_MS = 50;
const ROWS = 500;

/** Gathers rows so that a fast detector is not slowed by a transaction a row, and a killed process loses next to nothing. */
export class CommitQueue {
  private readonly store: { putMany(rows: readonly AnnotationRow[]): unknown };
  private rows: AnnotationRow[] = [];
  private lastCommit = performance.now();
  private timer: NodeJS.Timeout | null = null;
  private failure: unknown = null;

  constructor(store: { putMany(rows: readonly AnnotationRow[]): unknown }) {
    this.store = store;
  }

  add(row: AnnotationRow): void {
    this.rows.push(row);
    // For a slow detector, whose next answer may be minutes away.
    this.timer ??= setTimeout(() => this.commitOnTimer(), INTERVAL_MS);
  }

  async commitWhenDue(): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (this.rows.length < ROWS && performance.now() - this.lastCommit < INTERVAL_MS) return;
    this.commit();
    // A detector that never waits would keep Ctrl-C from being heard.
    await nextTurn();
  }

  /** Commits what is there now. */
  flush(): void {
    if (this.failure !== null) throw this.failure;
    if (this.rows.length > 0) this.commit();
  }

  /** Commits what is left, or throws what kept it from being committed. */
  close(): void {
    if (this.failure !== null) throw this.failure;
    this.commit();
  }

  private commit(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const rows = this.rows;
    this.rows = [];
    this.store.putMany(rows);
    this.lastCommit = performance.now();
  }

  /** Nobody awaits a timer: a failure is kept for the next one who asks. */
  private commitOnTimer(): void {
    try {
      this.commit();
    } catch (error) {
      this.failure = error;
    }
  }
}
