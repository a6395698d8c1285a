import { type AnnotationRow, keyOf } from '../../experts/annotations/annotation-row.ts';
import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { JudgementStore } from '../../experts/asking/ask-once.ts';
import type { Judgement } from '../../experts/detector.ts';

/** A store for dry runs. It reads the real store and keeps pretended judgements in memory, so nothing is written or counted twice. */
export class DryRunStore implements JudgementStore {
  private readonly store: AnnotationStore;
  /** A dry run never forgets the unreadable answer that it would ask for again. */
  readonly unreadable: JudgementStore['unreadable'];
  private readonly pretended = new Map<string, Judgement>();

  constructor(store: AnnotationStore) {
    this.store = store;
    const { unreadable } = store;
    this.unreadable = { find: (...query) => unreadable.find(...query), last: () => unreadable.last(), put: () => {} };
  }

  getMany(keys: readonly string[]): Map<string, Judgement> {
    const judgements = this.store.getMany(keys);
    for (const key of keys) {
      const judgement = this.pretended.get(key);
      if (judgement !== undefined) judgements.set(key, judgement);
    }
    return judgements;
  }

  /** The text of a part is read again; that of a whole judgement is not, so it is dropped. */
  put({ request, judgement }: AnnotationRow): boolean {
    const isPart = request.detector.includes('/');
    this.pretended.set(keyOf(request), isPart ? judgement : { ...judgement, explanation: '', transcript: [] });
    return true;
  }
}
