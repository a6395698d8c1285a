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
export function commitQueue(options: {
  store: { putMany(rows: readonly AnnotationRow[]): number };
  /** Is told at once when rows cannot be stored, for a timer has nobody to throw it at. */
  onFailure: (error: unknown) => void;
}) {
  const { store, onFailure } = options;
  const rows = new Map<string, AnnotationRow>();
  let hasLost = false;
  let lastCommit = performance.now();
  let timer: NodeJS.Timeout | null = null;
  let failure: unknown = null;

  function add(key: string, row: AnnotationRow): void {
    rows.set(key, row);
    // A slow detector's next answer may be minutes away.
    timer ??= setTimeout(commitOnTimer, INTERVAL_MS);
  }

  async function commitWhenDue(): Promise<void> {
    if (failure !== null) throw failure;
    if (rows.size < ROWS && performance.now() - lastCommit < INTERVAL_MS) return;
    flush();
    // With a detector that never waits, nothing else would let Ctrl-C be heard.
    await nextTurn();
  }

  /**
   * Commits what is there now.
   * @throws whatever an earlier commit on the timer failed with
   */
  function flush(): void {
    if (failure !== null) throw failure;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (rows.size === 0) return;
    try {
      if (store.putMany([...rows.values()]) < rows.size) hasLost = true;
      rows.clear();
    } catch (error) {
      failure = error;
      onFailure(error);
      throw error;
    }
    lastCommit = performance.now();
  }

  /** Nobody awaits a timer; its failure is kept for the next call. */
  function commitOnTimer(): void {
    try {
      flush();
    } catch {
      // In `failure`.
    }
  }

  return {
    add,
    /** What waits for its commit, or could not be committed. */
    keys: () => [...rows.keys()],
    find: (key: string) => rows.get(key)?.judgement,
    commitWhenDue,
    flush,
    /** Whether a question had another answer already, which stays. */
    hasLost: () => hasLost,
  };
}
