import { z } from 'zod';
import { type AnnotationDatabase, describingFailures, inTransaction } from './database.ts';

/** Names a kept call. */
export interface KeptCallId {
  /** Key of the annotation that the judgement will have. */
  readonly judgement: string;
  /** Which of the judgement's calls it is. */
  readonly call: string;
}

/**
 * What was answered for judgements that are not finished yet, in the table `answered_call`. No command counts, lists or
 * exports these rows; the transaction that stores a judgement deletes its calls.
 */
export class KeptCallTable {
  private readonly path: string;
  private readonly database: AnnotationDatabase;
  private readonly select;
  private readonly insert;
  private readonly remove;
  private readonly removeOne;

  constructor(options: { path: string; database: AnnotationDatabase }) {
    const { path, database } = options;
    this.path = path;
    this.database = database;
    this.select = database.prepare('SELECT answer FROM answered_call WHERE judgement = ? AND call = ?').raw();
    // Once another process has stored the judgement, its calls are of no use, and nothing would ever delete them.
    this.insert = database.prepare(
      `INSERT OR IGNORE INTO answered_call SELECT ?1, ?2, ?3, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
       WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`,
    );
    this.remove = database.prepare('DELETE FROM answered_call WHERE judgement = ?');
    this.removeOne = database.prepare('DELETE FROM answered_call WHERE judgement = ? AND call = ?');
  }

  find({ judgement, call }: KeptCallId): string | null {
    return describingFailures(this.path, () => {
      const [row] = this.select.all(judgement, call);
      return row === undefined ? null : rowSchema.parse(row)[0];
    });
  }

  /** On disk when it returns. The first answer stays: false where there is one already, or the judgement itself. */
  keep({ judgement, call }: KeptCallId, answer: string): boolean {
    return describingFailures(this.path, () => this.insert.run(judgement, call, answer).changes === 1);
  }

  /** Forgets these calls, all or none. */
  forget(calls: readonly KeptCallId[]): void {
    if (calls.length === 0) return;
    describingFailures(this.path, () =>
      inTransaction(this.database, () => {
        for (const { judgement, call } of calls) this.removeOne.run(judgement, call);
      }),
    );
  }

  /** Forgets the calls of one judgement, as part of a transaction that the caller has begun. */
  readonly forgetWithin = (judgement: string): void => {
    this.remove.run(judgement);
  };
}

const rowSchema = z.tuple([z.string()]);
