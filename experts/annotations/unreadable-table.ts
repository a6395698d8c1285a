import { z } from 'zod';
import type { UnreadableAnswer } from '../llm/failures.ts';
import { type AnnotationDatabase, describingFailures } from './database.ts';

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

const KEYS_A_QUERY = 1000;

/**
 * The answers that could not be read, in the table `unreadable_answer`. They are failures, not annotations: no export has
 * them. But unlike other failures they are kept, since they cost money and the next answer is likely to be as bad; they
 * are asked for again where the user wants it. The transaction that stores the judgement deletes its row.
 */
export class UnreadableTable {
  private readonly path: string;
  private readonly database: AnnotationDatabase;
  private readonly select;
  private readonly insert;
  private readonly remove;

  constructor(options: { path: string; database: AnnotationDatabase }) {
    const { path, database } = options;
    this.path = path;
    this.database = database;
    this.select = database
      .prepare('SELECT key, problem FROM unreadable_answer WHERE key IN (SELECT value FROM json_each(?))')
      .raw();
    this.insert = database.prepare(
      `INSERT OR REPLACE INTO unreadable_answer SELECT ?1, ?2, ?3, ?4, ?5, ?6, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
       WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`,
    );
    this.remove = database.prepare('DELETE FROM unreadable_answer WHERE key IN (SELECT value FROM json_each(?))');
  }

  /** What could not be read, by key; a key without a row is absent. */
  find(keys: readonly string[]): Map<string, string> {
    return describingFailures(this.path, () => {
      const found = new Map<string, string>();
      for (let start = 0; start < keys.length; start += KEYS_A_QUERY)
        for (const row of this.select.all(JSON.stringify(keys.slice(start, start + KEYS_A_QUERY)))) {
          const [key, problem] = foundSchema.parse(row);
          found.set(key, problem);
        }
      return found;
    });
  }

  /** Replaces what was answered before; does nothing where there is a judgement by now. */
  put({ key, detector, threadId, prefixLength, problem, answers }: UnreadableRow): void {
    const said = answers.map(({ text, thinking, finishReason }) => ({ text, thinking, finishReason }));
    describingFailures(this.path, () =>
      this.insert.run(key, detector, threadId, prefixLength, problem, JSON.stringify(said)),
    );
  }

  /** All of them, with the time they were stored, ordered by detector, thread and prefix length. */
  list(): (UnreadableRow & { readonly date: string })[] {
    return describingFailures(this.path, () =>
      this.database
        .prepare(
          `SELECT key, detector, thread_id, prefix_length, problem, answers, date FROM unreadable_answer
           ORDER BY detector, thread_id, prefix_length, key`,
        )
        .raw()
        .all()
        .map((row) => {
          const [key, detector, threadId, prefixLength, problem, answers, date] = rowSchema.parse(row);
          return { key, detector, threadId, prefixLength, problem, answers: answersSchema.parse(answers), date };
        }),
    );
  }

  /** How many there are by each detector. */
  countByDetector(): Map<string, number> {
    return describingFailures(this.path, () => {
      const rows = this.database
        .prepare('SELECT detector, count(*) FROM unreadable_answer GROUP BY detector')
        .raw()
        .all();
      return new Map(rows.map((row) => countSchema.parse(row)));
    });
  }

  /** Forgets these, also as part of a transaction that the caller has begun. */
  forget(keys: readonly string[]): void {
    describingFailures(this.path, () => this.remove.run(JSON.stringify(keys)));
  }
}

const foundSchema = z.tuple([z.string(), z.string()]);
const countSchema = z.tuple([z.string(), z.number()]);
const rowSchema = z.tuple([z.string(), z.string(), z.string(), z.number(), z.string(), z.string(), z.string()]);
const answersSchema = z
  .string()
  .transform((json): unknown => JSON.parse(json))
  .pipe(z.array(z.object({ text: z.string(), thinking: z.string().optional(), finishReason: z.string() })));
