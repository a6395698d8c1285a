import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';

/** What a store holds, in numbers. */
export interface AnnotationCounts {
  readonly annotations: number;
  /** Questions that were answered and whose answers could not be read. */
  readonly unreadable: number;
  readonly byDetector: readonly {
    readonly detector: string;
    readonly annotations: number;
    readonly unreadable: number;
    /** Answers that could not be read and that annotations do without. */
    readonly unreadableParts: number;
    readonly threads: number;
    readonly requests: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
    /** From the question to the answer, mean of those whose time is known; null where none is. */
    readonly seconds: number | null;
  }[];
  readonly firstDate: string | null;
  readonly lastDate: string | null;
}

/** An annotation as shown in a list. */
export interface ListedAnnotation {
  readonly key: string;
  readonly threadId: string;
  readonly prefixLength: number;
  readonly detector: string;
  readonly label: string | null;
  readonly date: string;
}

export interface AnnotationFilter {
  readonly keyPrefix?: string;
  readonly threadId?: string;
  readonly prefixLength?: number;
  /** Exact name; parts of judgements have names of their own, such as `s2mad/comment-score`. */
  readonly detector?: string;
  readonly label?: string;
  /** At most this many rows. */
  readonly limit?: number;
}

/** All keys, ordered by detector, thread and prefix length. */
export function orderedKeys(database: AnnotationDatabase): string[] {
  const sql = 'SELECT key FROM annotation ORDER BY detector, thread_id, prefix_length, key';
  return database.read(sql, [], (row) => keySchema.parse(row)[0]);
}

/** The annotations that match a filter, in the order of their keys above. */
export function listAnnotations(database: AnnotationDatabase, filter: AnnotationFilter): ListedAnnotation[] {
  const { keyPrefix, threadId, prefixLength, detector, label, limit = -1 } = filter;
  const labelSql = `json_extract(judgement, '$.label')`;
  const conditions = [
    ['substr(key, 1, length(?1)) = ?1', keyPrefix],
    ['thread_id = ?2', threadId],
    ['prefix_length = ?3', prefixLength],
    ['detector = ?4', detector],
    [`${labelSql} = ?5`, label],
  ] as const;
  const wanted = conditions.filter(([, value]) => value !== undefined).map(([condition]) => condition);
  return database.read(
    `SELECT key, thread_id, prefix_length, detector, ${labelSql}, date FROM annotation
     ${wanted.length > 0 ? `WHERE ${wanted.join(' AND ')}` : ''}
     ORDER BY detector, thread_id, prefix_length, key LIMIT ?6`,
    [keyPrefix ?? null, threadId ?? null, prefixLength ?? null, detector ?? null, label ?? null, limit],
    (row) => {
      const [key, thread, length, by, said, date] = listedSchema.parse(row);
      return { key, threadId: thread, prefixLength: length, detector: by, label: said, date };
    },
  );
}

/** Annotations and unreadable answers; detectors that have none of the former come last. */
export function countAnnotations(database: AnnotationDatabase): AnnotationCounts {
  const rows = database.read(
    `SELECT detector, count(judgement), count(*) - count(judgement),
              total(json_extract(judgement, '$.unreadableParts')), count(DISTINCT thread_id),
              total(requests), total(input_tokens), total(output_tokens), min(date), max(date),
              avg(latency_ms) / 1000
       FROM (SELECT detector, judgement, thread_id, requests, input_tokens, output_tokens, date, latency_ms FROM annotation
             UNION ALL SELECT detector, NULL, NULL, 0, 0, 0, NULL, NULL FROM unreadable_answer)
       GROUP BY detector ORDER BY count(judgement) = 0, detector`,
    [],
    (row) => countsSchema.parse(row),
  );
  const dates = (place: 8 | 9) => rows.flatMap((row) => row[place] ?? []).sort();
  return {
    annotations: rows.reduce((sum, row) => sum + row[1], 0),
    unreadable: rows.reduce((sum, row) => sum + row[2], 0),
    byDetector: rows.map(
      ([
        detector,
        annotations,
        unreadable,
        unreadableParts,
        threads,
        requests,
        inputTokens,
        outputTokens,
        ,
        ,
        seconds,
      ]) => {
        const counts = { annotations, unreadable, unreadableParts, threads };
        return { detector, ...counts, requests, inputTokens, outputTokens, seconds };
      },
    ),
    firstDate: dates(8)[0] ?? null,
    lastDate: dates(9).at(-1) ?? null,
  };
}

const keySchema = z.tuple([z.string()]);
const listedSchema = z.tuple([z.string(), z.string(), z.number(), z.string(), z.string().nullable(), z.string()]);
const count = z.number();
const date = z.string().nullable();
const countsSchema = z.tuple([
  z.string(),
  count,
  count,
  count,
  count,
  count,
  count,
  count,
  date,
  date,
  count.nullable(),
]);
