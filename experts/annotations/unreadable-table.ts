import { z } from 'zod';
import type { UnreadableAnswer } from '../llm/failures.ts';
import type { AnnotationDatabase } from './database.ts';

/** A prefix whose judgement was asked for and paid for, and could not be read. */
export interface UnreadableRow {
  /** That of the annotation that is missing. */
  readonly key: string;
  readonly detector: string;
  readonly threadId: string;
  readonly prefixLength: number;
  /** What could not be read in it, as a sentence. */
  readonly problem: string;
  /** What was said instead, in order. */
  readonly answers: readonly UnreadableAnswer[];
}

/**
 * The answers that could not be read, in the table `unreadable_answer`. They are failures, not annotations: no export has
 * them. But unlike other failures they are kept, since they cost money and the next answer is likely to be as bad; they
 * are asked for again where the user wants it. The transaction that stores the judgement deletes its row.
 */
export class UnreadableTable {
  private readonly database: AnnotationDatabase;

  constructor(database: AnnotationDatabase) {
    this.database = database;
  }

  /** The number of the last answer so far; what comes later has a larger one. */
  last(): number {
    const sql = 'SELECT coalesce(max(number), 0) FROM unreadable_answer';
    return this.database.read(sql, [], (row) => numberSchema.parse(row)[0])[0];
  }

  /** What could not be read, by key, in answers with larger numbers than `after`; a key without a row is absent. */
  find(keys: readonly string[], { after }: { after: number }): Map<string, string> {
    // The plus sign keeps SQLite on the index of keys.
    const sql = `SELECT key, problem FROM unreadable_answer
                 WHERE +number > ?2 AND key IN (SELECT value FROM json_each(?1))`;
    return new Map(this.database.read(sql, [JSON.stringify(keys), after], (row) => foundSchema.parse(row)));
  }

  /** Replaces what was answered before; does nothing where there is a judgement by now. */
  put({ key, detector, threadId, prefixLength, problem, answers }: UnreadableRow): void {
    const said = answers.map(({ text, thinking, finishReason }) => ({ text, thinking, finishReason }));
    this.database.write(
      `INSERT OR REPLACE INTO unreadable_answer
       SELECT NULL, ?1, ?2, ?3, ?4, ?5, ?6, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
       WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`,
      ...[key, detector, threadId, prefixLength, problem, JSON.stringify(said)],
    );
  }

  /** All of them, with the time they were stored, ordered by detector, thread and prefix length. */
  list(): (UnreadableRow & { readonly date: string })[] {
    const sql = `SELECT key, detector, thread_id, prefix_length, problem, answers, date FROM unreadable_answer
                 ORDER BY detector, thread_id, prefix_length, key`;
    return this.database.read(sql, [], (row) => {
      const [key, detector, threadId, prefixLength, problem, answers, date] = rowSchema.parse(row);
      return { key, detector, threadId, prefixLength, problem, answers: answersSchema.parse(answers), date };
    });
  }

  /** Forgets these, so that their questions can be answered. */
  forget(keys: readonly string[]): void {
    this.database.write(
      'DELETE FROM unreadable_answer WHERE key IN (SELECT value FROM json_each(?))',
      JSON.stringify(keys),
    );
  }
}

const foundSchema = z.tuple([z.string(), z.string()]);
const numberSchema = z.tuple([z.number()]);
const rowSchema = z.tuple([z.string(), z.string(), z.string(), z.number(), z.string(), z.string(), z.string()]);
const answersSchema = z
  .string()
  .transform((json): unknown => JSON.parse(json))
  .pipe(z.array(z.object({ text: z.string(), thinking: z.string().optional(), finishReason: z.string() })));
