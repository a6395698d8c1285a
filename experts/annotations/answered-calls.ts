import { z } from 'zod';
import { type AnnotationDatabase, describingFailures, inTransaction } from './database.ts';

/** A call of a judgement that is being made. */
export interface AnsweredCall {
  /** Key of the judgement's annotation. */
  readonly judgement: string;
  /** Which of its calls. */
  readonly call: string;
}

/**
 * The `answered_call` table: what was answered for judgements that are not finished yet. Nobody counts, lists or exports
 * it; the store empties it of a judgement's calls with the transaction that stores the judgement.
 */
export class AnsweredCalls {
  private readonly path: string;
  private readonly database: AnnotationDatabase;
  private readonly select;
  private readonly insert;
  private readonly remove;

  constructor(options: { path: string; database: AnnotationDatabase }) {
    const { path, database } = options;
    this.path = path;
    this.database = database;
    this.select = database.prepare('SELECT answer FROM answered_call WHERE judgement = ? AND call = ?').raw();
    // Of a judgement that another process has stored meanwhile nothing is needed, and nothing would ever delete it.
    this.insert = database.prepare(
      `INSERT OR IGNORE INTO answered_call SELECT ?1, ?2, ?3, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
       WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`,
    );
    this.remove = database.prepare('DELETE FROM answered_call WHERE judgement = ?');
  }

  find({ judgement, call }: AnsweredCall): string | null {
    return describingFailures(this.path, () => {
      const [row] = this.select.all(judgement, call);
      return row === undefined ? null : rowSchema.parse(row)[0];
    });
  }

  /** On disk when it returns. The first answer stays: returns false where there is one, or the judgement itself. */
  keep({ judgement, call }: AnsweredCall, answer: string): boolean {
    return describingFailures(this.path, () => this.insert.run(judgement, call, answer).changes === 1);
  }

  /** Forgets the calls of these judgements, all or none. */
  forget(judgements: readonly string[]): void {
    if (judgements.length === 0) return;
    describingFailures(this.path, () => inTransaction(this.database, () => judgements.forEach(this.forgetWithin)));
  }

  /** The same for one judgement, as part of a transaction that somebody else has begun. */
  readonly forgetWithin = (judgement: string): void => {
    this.remove.run(judgement);
  };
}

const rowSchema = z.tuple([z.string()]);
