import { z } from 'zod';
import { jsonColumn } from '../../src/sqlite-file.ts';
import type { UnreadableAnswer } from '../llm/failures.ts';
import type { AnnotationDatabase } from './database.ts';

const answerSchema = z.object({ text: z.string(), thinking: z.string().optional(), finishReason: z.string() });

const storedSchema = z.object({
  key: z.string().describe('that of the annotation that is missing'),
  detector: z.string(),
  threadId: z.string(),
  prefixLength: z.number(),
  problem: z.string().describe('what could not be read in it, as a sentence'),
  answers: jsonColumn(z.array(answerSchema)).describe('what was said instead, in order'),
  date: z.string(),
});

/** A prefix whose judgement was paid for and could not be read. */
export interface UnreadableRow extends Omit<z.infer<typeof storedSchema>, 'answers' | 'date'> {
  readonly answers: readonly UnreadableAnswer[];
}

/**
 * Unreadable answers, in the table `unreadable_answer`. They are failures, not annotations, so no export has them.
 * Unlike other failures they are stored, because they cost money and the next answer is likely as bad; the user may ask
 * for them again. The transaction that stores the judgement deletes its row.
 */
export function unreadableTable(database: AnnotationDatabase) {
  /** The number of the last answer. Later answers have larger numbers. */
  function last(): number {
    const sql = 'SELECT coalesce(max(number), 0) AS last FROM unreadable_answer';
    return database.read(sql, [], lastSchema)[0].last;
  }

  /** The problem of an unreadable answer with a number above `after`; null without one. */
  function find(key: string, { after }: { after: number }): string | null {
    const sql = 'SELECT problem FROM unreadable_answer WHERE key = ? AND number > ?';
    return database.read(sql, [key, after], foundSchema)[0]?.problem ?? null;
  }

  /** Replaces an earlier answer; does nothing if the judgement is stored by now. */
  function put({ key, detector, threadId, prefixLength, problem, answers }: UnreadableRow): void {
    const texts = answers.map(({ text, thinking, finishReason }) => ({ text, thinking, finishReason }));
    database.write(
      `INSERT OR REPLACE INTO unreadable_answer
       SELECT NULL, ?1, ?2, ?3, ?4, ?5, ?6, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
       WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`,
      ...[key, detector, threadId, prefixLength, problem, JSON.stringify(texts)],
    );
  }

  /** All answers with the time they were stored, ordered by detector, thread and prefix length. */
  function list(): z.infer<typeof storedSchema>[] {
    const sql = `SELECT key, detector, thread_id AS threadId, prefix_length AS prefixLength, problem, answers, date
                 FROM unreadable_answer ORDER BY detector, thread_id, prefix_length, key`;
    return database.read(sql, [], storedSchema);
  }

  /** Deletes these rows, so that their questions can be answered. */
  function forget(keys: readonly string[]): void {
    database.write('DELETE FROM unreadable_answer WHERE key IN (SELECT value FROM json_each(?))', JSON.stringify(keys));
  }

  return { last, find, put, list, forget };
}

export type UnreadableTable = ReturnType<typeof unreadableTable>;

const lastSchema = z.object({ last: z.number() });
const foundSchema = storedSchema.pick({ problem: true });
