import type { AnnotateOptions } from '../../experts/annotate.ts';
import type { AnnotationRequest, AnnotationRow } from '../../experts/annotations/annotation-row.ts';
import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Judgement } from '../../experts/detector.ts';

/** A store for dry runs: it reads the real one and keeps pretended judgements in memory, so nothing is written or counted twice. */
export class DryRunStore {
  private readonly store: AnnotationStore;
  /** What is asked again is not forgotten by only being counted. */
  readonly unreadable: AnnotateOptions['store']['unreadable'];
  private readonly pretended = new Map<string, Judgement>();

  constructor(store: AnnotationStore) {
    this.store = store;
    const { unreadable } = store;
    this.unreadable = { find: (...asked) => unreadable.find(...asked), last: () => unreadable.last(), put: () => {} };
  }

  keyOf(request: AnnotationRequest): string {
    return this.store.keyOf(request);
  }

  getMany(keys: readonly string[]): Map<string, Judgement> {
    const found = this.store.getMany(keys);
    for (const key of keys) {
      const judgement = this.pretended.get(key);
      if (judgement !== undefined) found.set(key, judgement);
    }
    return found;
  }

  put({ request, judgement }: AnnotationRow): boolean {
    this.pretended.set(this.keyOf(request), judgement);
    return true;
  }

  /** Whole judgements. Their texts are dropped, because nobody reads them. */
  putMany(rows: readonly AnnotationRow[]): number {
    for (const { request, judgement } of rows)
      this.pretended.set(this.keyOf(request), { ...judgement, explanation: '', transcript: [] });
    return rows.length;
  }
}
