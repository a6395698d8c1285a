import { statSync } from 'node:fs';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import type { Judgement } from '../detector.ts';
import { type AnnotationRequest, type AnnotationRow, judgementSchema, keyOf } from './annotation-row.ts';
import { ClaimTable } from './claim-table.ts';
import {
  type AnnotationDatabase,
  closeAnnotationDatabase,
  describingFailures,
  inTransaction,
  openAnnotationDatabase,
} from './database.ts';
import { KeptCallTable } from './kept-call-table.ts';
import { RequestChain } from './request-chain.ts';
import { exportAnnotations, importAnnotations } from './transfer.ts';
import { UnreadableTable } from './unreadable-table.ts';

/** An annotation as it is read back, with its key and the time it was stored. */
export interface StoredAnnotation extends AnnotationRow {
  readonly key: string;
  readonly date: string;
}

export interface AnnotationStats {
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
  }[];
  readonly firstDate: string | null;
  readonly lastDate: string | null;
  /** Null for a store in memory. */
  readonly fileBytes: number | null;
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

const KEYS_A_QUERY = 1000;

/**
 * Annotations in one SQLite file that many processes may read and write, so that no judgement is paid for twice.
 * Nothing expires, the first answer to a question stays, and failures are never stored.
 */
export class AnnotationStore {
  readonly path: string;
  /** Answers for judgements that are not finished. */
  readonly keptCalls: KeptCallTable;
  /** Answers that were no judgements. */
  readonly unreadable: UnreadableTable;
  /** What other processes are asking; null for a store in memory, which has no others. */
  readonly claims: ClaimTable | null;
  private readonly database: AnnotationDatabase;
  private readonly chain: RequestChain;
  private readonly insert;
  private readonly selectJudgements;
  private readonly selectRows;

  private constructor(path: string) {
    this.path = path;
    this.database = openAnnotationDatabase(path);
    this.chain = new RequestChain(this.database);
    this.keptCalls = new KeptCallTable({ path, database: this.database });
    this.unreadable = new UnreadableTable({ path, database: this.database });
    this.claims = path === ':memory:' ? null : new ClaimTable({ path, database: this.database });
    this.insert = this.database.prepare(
      `INSERT OR IGNORE INTO annotation VALUES
       (?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), ?, ?)`,
    );
    this.selectJudgements = this.database
      .prepare('SELECT key, judgement FROM annotation WHERE key IN (SELECT value FROM json_each(?))')
      .raw();
    this.selectRows = this.database
      .prepare(
        `SELECT key, request, raw_response, judgement, latency_ms, date, thread_id, prefix_length
         FROM annotation WHERE key IN (SELECT value FROM json_each(?))`,
      )
      .raw();
  }

  /**
   * @param path a file, created when absent, or `:memory:`
   * @throws InputError where the file is not an annotation store or cannot be used
   */
  static open(path: string): AnnotationStore {
    return new AnnotationStore(path);
  }

  keyOf(request: AnnotationRequest): string {
    return keyOf(request);
  }

  /** The stored judgements among `keys`; a key without one is absent from the map. */
  getMany(keys: readonly string[]): Map<string, Judgement> {
    return describingFailures(this.path, () => {
      const found = new Map<string, Judgement>();
      for (let start = 0; start < keys.length; start += KEYS_A_QUERY) {
        const query = JSON.stringify(keys.slice(start, start + KEYS_A_QUERY));
        // Our own rows were checked when they were written. Looking only whether they are judgements at all lets 100,000
        // be read in well under a second.
        for (const [key, judgement] of this.selectJudgements.all(query) as [string, string][]) {
          const stored = JSON.parse(judgement) as Judgement;
          found.set(key, stored?.usage && stored.transcript ? stored : judgementSchema.parse(stored));
        }
      }
      return found;
    });
  }

  /** Whole annotations, checked, for inspection and export. */
  getRows(keys: readonly string[]): Map<string, StoredAnnotation> {
    return describingFailures(this.path, () => {
      const found = new Map<string, StoredAnnotation>();
      for (let start = 0; start < keys.length; start += KEYS_A_QUERY) {
        for (const row of this.selectRows.all(JSON.stringify(keys.slice(start, start + KEYS_A_QUERY)))) {
          const stored = this.parseRow(row);
          found.set(stored.key, stored);
        }
      }
      return found;
    });
  }

  /** Stores a judgement unless its question has one already. Returns whether it was new. */
  put(row: AnnotationRow): boolean {
    return this.putMany([row]) === 1;
  }

  /**
   * Stores all rows or none, in one transaction. Returns how many were new. `date` is the present unless a row has
   * one.
   */
  putMany(rows: readonly (AnnotationRow & { readonly date?: string })[]): number {
    if (rows.length === 0) return 0;
    return describingFailures(this.path, () => {
      try {
        return inTransaction(this.database, () => {
          let added = 0;
          const keys = rows.map(({ request }) => keyOf(request));
          for (const [index, row] of rows.entries()) added += this.insertRow(keys[index], row);
          // Nobody has to ask these any more.
          this.unreadable.forget(keys);
          this.claims?.forgetWithin(keys);
          return added;
        });
      } catch (error) {
        this.chain.forgetWritten();
        throw error;
      }
    });
  }

  /** All keys, ordered by detector, thread and prefix length, so that exports are easy to compare. */
  keys(): string[] {
    return describingFailures(this.path, () =>
      this.database
        .prepare('SELECT key FROM annotation ORDER BY detector, thread_id, prefix_length, key')
        .raw()
        .all()
        .map((row) => (row as [string])[0]),
    );
  }

  /** The annotations that match a filter, in the order of `keys`. */
  list(filter: AnnotationFilter = {}): ListedAnnotation[] {
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
    return describingFailures(this.path, () =>
      this.database
        .prepare(
          `SELECT key, thread_id, prefix_length, detector, ${labelSql}, date FROM annotation
           ${wanted.length > 0 ? `WHERE ${wanted.join(' AND ')}` : ''}
           ORDER BY detector, thread_id, prefix_length, key LIMIT ?6`,
        )
        .raw()
        .all(keyPrefix ?? null, threadId ?? null, prefixLength ?? null, detector ?? null, label ?? null, limit)
        .map((row) => {
          const [key, thread, length, by, said, date] = listedRowSchema.parse(row);
          return { key, threadId: thread, prefixLength: length, detector: by, label: said, date };
        }),
    );
  }

  /** Writes every annotation as a line of JSON; gzipped when the name ends in `.gz`. Returns their number. */
  export(path: string): Promise<number> {
    return exportAnnotations({ path, keys: this.keys(), rowsOf: (keys) => this.getRows(keys) });
  }

  /** Adds the annotations of an exported file. A question that already has an answer here keeps it. */
  import(path: string): Promise<{ read: number; added: number }> {
    return importAnnotations({ path, add: (rows) => this.putMany(rows) });
  }

  stats(): AnnotationStats {
    return describingFailures(this.path, () => {
      const rows = this.database
        .prepare(
          `SELECT detector, count(*), count(DISTINCT thread_id), sum(requests), sum(input_tokens), sum(output_tokens),
                  total(json_extract(judgement, '$.unreadableParts')), min(date), max(date)
           FROM annotation GROUP BY detector ORDER BY detector`,
        )
        .raw()
        .all()
        .map((row) => statsRowSchema.parse(row));
      const unreadable = this.unreadable.countByDetector();
      const stored = rows.map(
        ([detector, annotations, threads, requests, inputTokens, outputTokens, unreadableParts]) => {
          const counts = { annotations, unreadable: unreadable.get(detector) ?? 0, unreadableParts, threads };
          return { detector, ...counts, requests, inputTokens, outputTokens };
        },
      );
      const nothing = { annotations: 0, unreadableParts: 0, threads: 0, requests: 0, inputTokens: 0, outputTokens: 0 };
      const others = [...unreadable].filter(([name]) => !stored.some(({ detector }) => detector === name));
      const byDetector = [
        ...stored,
        ...others.map(([detector, count]) => ({ detector, ...nothing, unreadable: count })),
      ];
      return {
        annotations: byDetector.reduce((sum, row) => sum + row.annotations, 0),
        unreadable: byDetector.reduce((sum, row) => sum + row.unreadable, 0),
        byDetector,
        firstDate: rows.map((row) => row[7]).sort()[0] ?? null,
        lastDate:
          rows
            .map((row) => row[8])
            .sort()
            .at(-1) ?? null,
        fileBytes: this.path === ':memory:' ? null : statSync(this.path).size,
      };
    });
  }

  close(): void {
    this.claims?.close();
    closeAnnotationDatabase(this.database);
  }

  private insertRow(key: string, row: AnnotationRow & { readonly date?: string }): number {
    const { usage } = row.judgement;
    // The calls have come to this judgement, so they are no longer needed.
    this.keptCalls.forgetWithin(key);
    return this.insert.run(
      key,
      row.request.detector,
      this.chain.write(row.request),
      row.rawResponse,
      JSON.stringify(row.judgement),
      usage.requests,
      usage.inputTokens,
      usage.outputTokens,
      row.latencyMs,
      row.date ?? null,
      row.threadId,
      row.prefixLength,
    ).changes;
  }

  private parseRow(row: unknown): StoredAnnotation {
    const parsed = storedRowSchema.safeParse(row);
    if (!parsed.success) throw new InputError(`a row of ${this.path} is damaged:\n${z.prettifyError(parsed.error)}`);
    const [key, request, rawResponse, judgement, latencyMs, date, threadId, prefixLength] = parsed.data;
    return {
      key,
      request: this.chain.read(request),
      rawResponse,
      judgement: judgementSchema.parse(JSON.parse(judgement)),
      latencyMs,
      date,
      threadId,
      prefixLength,
    };
  }
}

const storedRowSchema = z.tuple([
  z.string(),
  z.string(),
  z.string().nullable(),
  z.string(),
  z.number().nullable(),
  z.string(),
  z.string(),
  z.number(),
]);
const listedRowSchema = z.tuple([
  z.string(),
  z.string(),
  z.number(),
  z.string(),
  z.union([z.string(), z.null()]),
  z.string(),
]);
const count = z.number();
const statsRowSchema = z.tuple([z.string(), count, count, count, count, count, count, z.string(), z.string()]);
