import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';

const listedSchema = z.object({
  key: z.string(),
  threadId: z.string(),
  prefixLength: z.number(),
  detector: z.string(),
  label: z.string().nullable(),
  date: z.string(),
});

const countsSchema = z.object({
  detector: z.string(),
  annotations: z.number(),
  unreadable: z.number(),
  unreadableParts: z.number().describe('answers that could not be read and that annotations do without'),
  threads: z.number(),
  requests: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cost: z.number().nullable().describe('money of those whose price was known when they were made; null where none was'),
  seconds: z.number().nullable().describe('from the question to the answer, mean of those whose time is known'),
});

const datesSchema = z.object({ firstDate: z.string().nullable(), lastDate: z.string().nullable() });

/** The contents of a store, in numbers. */
export interface AnnotationCounts extends z.infer<typeof datesSchema> {
  readonly annotations: number;
  /** Questions whose answers could not be read. */
  readonly unreadable: number;
  readonly byDetector: readonly z.infer<typeof countsSchema>[];
}

export type ListedAnnotation = z.infer<typeof listedSchema>;

export interface AnnotationFilter {
  readonly keyPrefix?: string;
  readonly threadId?: string;
  readonly prefixLength?: number;
  /** Exact name. Parts of judgements have their own names, such as `s2mad/comment-score`. */
  readonly detector?: string;
  readonly label?: string;
  readonly limit?: number;
}

/** The annotations that match a filter, ordered by detector, thread and prefix length. */
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
  const used = conditions.filter(([, value]) => value !== undefined).map(([condition]) => condition);
  return database.read(
    `SELECT key, thread_id AS threadId, prefix_length AS prefixLength, detector, ${labelSql} AS label, date FROM annotation
     ${used.length > 0 ? `WHERE ${used.join(' AND ')}` : ''}
     ORDER BY detector, thread_id, prefix_length, key LIMIT ?6`,
    [keyPrefix ?? null, threadId ?? null, prefixLength ?? null, detector ?? null, label ?? null, limit],
    listedSchema,
  );
}

/** Counts annotations and unreadable answers. Detectors without annotations come last. */
export function countAnnotations(database: AnnotationDatabase): AnnotationCounts {
  const byDetector = database.read(
    `SELECT detector, count(judgement) AS annotations, count(*) - count(judgement) AS unreadable,
            total(json_extract(judgement, '$.unreadableParts')) AS unreadableParts, count(DISTINCT thread_id) AS threads,
            total(requests) AS requests, total(input_tokens) AS inputTokens, total(output_tokens) AS outputTokens,
            sum(json_extract(judgement, '$.usage.cost')) AS cost,
            avg(latency_ms) / 1000 AS seconds
     FROM (SELECT detector, judgement, thread_id, requests, input_tokens, output_tokens, latency_ms FROM annotation
           UNION ALL SELECT detector, NULL, NULL, 0, 0, 0, NULL FROM unreadable_answer)
     GROUP BY detector ORDER BY annotations = 0, detector`,
    [],
    countsSchema,
  );
  const [dates] = database.read(
    'SELECT min(date) AS firstDate, max(date) AS lastDate FROM annotation',
    [],
    datesSchema,
  );
  const total = (count: 'annotations' | 'unreadable') => byDetector.reduce((sum, row) => sum + row[count], 0);
  return { annotations: total('annotations'), unreadable: total('unreadable'), byDetector, ...dates };
}
