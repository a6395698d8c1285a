import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';

/** Names an answered call. */
export interface CallId {
  /** Key of the annotation that the judgement will have. */
  readonly judgement: string;
  /** Which of the judgement's calls it is. */
  readonly call: string;
}

/**
 * What was answered for judgements that are not finished yet, in the table `answered_call`. No command counts, lists or
 * exports these rows; the transaction that stores a judgement deletes its calls.
 */
export class CallTable {
  private readonly database: AnnotationDatabase;

  constructor(database: AnnotationDatabase) {
    this.database = database;
  }

  find({ judgement, call }: CallId): string | null {
    const sql = 'SELECT answer FROM answered_call WHERE judgement = ? AND call = ?';
    return this.database.read(sql, [judgement, call], (row) => rowSchema.parse(row)[0])[0] ?? null;
  }

  /** On disk when it returns. The first answer stays: false where there is one already, or the judgement itself. */
  keep({ judgement, call }: CallId, answer: string): boolean {
    // Once another process has stored the judgement, its calls are of no use, and nothing would ever delete them.
    const sql = `INSERT OR IGNORE INTO answered_call SELECT ?1, ?2, ?3, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
                 WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`;
    return this.database.write(sql, judgement, call, answer) === 1;
  }

  /** Forgets these calls, all or none. */
  forget(calls: readonly CallId[]): void {
    if (calls.length === 0) return;
    const sql = 'DELETE FROM answered_call WHERE judgement = ? AND call = ?';
    this.database.transaction(() => {
      for (const { judgement, call } of calls) this.database.write(sql, judgement, call);
    });
  }

  /** Forgets the calls of one judgement. */
  forgetJudgement(judgement: string): void {
    this.database.write('DELETE FROM answered_call WHERE judgement = ?', judgement);
  }
}

const rowSchema = z.tuple([z.string()]);
