import { statSync } from 'node:fs';
import { z } from 'zod';
import { readLines, type TextLine } from '../../src/data/text-lines.ts';
import { InputError } from '../../src/errors.ts';
import { storedLine } from '../../src/json-file.ts';
import { writeText } from '../../src/write-text.ts';
import type { Judgement } from '../detector.ts';
import {
  type AnnotationCounts,
  type AnnotationFilter,
  countAnnotations,
  type ListedAnnotation,
  listAnnotations,
  orderedKeys,
} from './annotation-list.ts';
import {
  type AnnotationRequest,
  type AnnotationRow,
  annotationRowSchema,
  judgementSchema,
  keyOf,
} from './annotation-row.ts';
import { AnnotationDatabase, jsonColumn } from './database.ts';
import { type LeaseTable, leaseTable } from './lease-table.ts';
import { type LedgerRow, LedgerTable } from './ledger-table.ts';
import { type RequestChain, requestChain } from './request-chain.ts';
import { type ResponseTable, responseTable } from './response-table.ts';
import { type StoreOwner, storeOwner } from './store-owner.ts';
import { type UnreadableTable, unreadableTable } from './unreadable-table.ts';

/** Of an export or an import. */
const ROWS_AT_ONCE = 500;

/** An annotation as it is read back, with its key and the time it was stored. */
export interface StoredAnnotation extends AnnotationRow {
  readonly key: string;
  readonly date: string;
}

export interface AnnotationStats extends AnnotationCounts {
  /** Null for a store in memory. */
  readonly fileBytes: number | null;
  /** What was sent by name of detector or experiment, failed requests and those under way included. */
  readonly spent: readonly LedgerRow[];
}

/**
 * Annotations in one SQLite file that many processes may read and write, so that no judgement is paid for twice.
 * Nothing expires, the first answer to a question stays, and failures are never stored.
 */
export class AnnotationStore {
  readonly path: string;
  /** What models answered, word for word. */
  readonly responses: ResponseTable;
  /** Answers that were no judgements. */
  readonly unreadable: UnreadableTable;
  /** What other processes are asking; null for a store in memory, which has no others. */
  readonly leases: LeaseTable | null;
  /** What was spent on language models. */
  readonly ledgers: LedgerTable;
  private readonly owner: StoreOwner | null;
  private readonly database: AnnotationDatabase;
  private readonly chain: RequestChain;

  private constructor(path: string) {
    const database = new AnnotationDatabase(path);
    this.path = path;
    this.database = database;
    this.chain = requestChain(database);
    this.responses = responseTable(database);
    this.unreadable = unreadableTable(database);
    this.owner = path === ':memory:' ? null : storeOwner(database);
    this.leases = this.owner && leaseTable(database, this.owner);
    this.ledgers = new LedgerTable(database, this.owner);
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
    const sql = 'SELECT key, judgement FROM annotation WHERE key IN (SELECT value FROM json_each(?))';
    const found = this.database.read(sql, [JSON.stringify(keys)], foundSchema);
    return new Map(found.map(({ key, judgement }) => [key, judgement]));
  }

  /** Whole annotations, checked, for inspection and export. */
  getRows(keys: readonly string[]): Map<string, StoredAnnotation> {
    const sql = `SELECT key, request, raw_response AS rawResponse, judgement, latency_ms AS latencyMs, date,
                 thread_id AS threadId, prefix_length AS prefixLength
                 FROM annotation WHERE key IN (SELECT value FROM json_each(?))`;
    const request = z.string().transform((id) => this.chain.read(id));
    const stored = this.database.read(sql, [JSON.stringify(keys)], storedSchema.extend({ request }));
    return new Map(stored.map((row) => [row.key, row]));
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
    const keys = rows.map(({ request }) => keyOf(request));
    try {
      return this.database.transaction(() => {
        const added = rows.reduce((sum, row, index) => sum + this.insertRow(keys[index], row), 0);
        // Nobody has to ask these any more.
        this.unreadable.forget(keys);
        this.leases?.end(keys);
        return added;
      });
    } catch (error) {
      this.chain.forgetWritten();
      throw error;
    }
  }

  /** Puts another judgement in the place of one. */
  replace(key: string, judgement: Judgement): void {
    this.database.write('UPDATE annotation SET judgement = ? WHERE key = ?', JSON.stringify(judgement), key);
  }

  /** Takes an annotation out, so that its question is asked again; the answers that it was made of stay. */
  remove(key: string): void {
    this.database.write('DELETE FROM annotation WHERE key = ?', key);
  }

  /** Does all of `work` or nothing. */
  transaction<T>(work: () => T): T {
    return this.database.transaction(work);
  }

  /** All keys, ordered by detector, thread and prefix length, so that exports are easy to compare. */
  keys(): string[] {
    return orderedKeys(this.database);
  }

  /** The annotations that match a filter, in the order of `keys`. */
  list(filter: AnnotationFilter = {}): ListedAnnotation[] {
    return listAnnotations(this.database, filter);
  }

  stats(): AnnotationStats {
    const fileBytes = this.path === ':memory:' ? null : statSync(this.path).size;
    return { ...countAnnotations(this.database), fileBytes, spent: this.ledgers.list() };
  }

  /** Writes every annotation as a line of JSON; gzipped when the name ends in `.gz`. Returns their number. */
  async export(path: string): Promise<number> {
    const keys = this.keys();
    await writeText(path, { texts: this.exportedLines(keys), what: 'annotations' });
    return keys.length;
  }

  /** Adds the annotations of an exported file. A question that already has an answer here keeps it. */
  async import(path: string): Promise<{ read: number; added: number }> {
    let read = 0;
    let added = 0;
    const batch: ExportedRow[] = [];
    // What an empty store exports.
    if (statSync(path, { throwIfNoEntry: false })?.size === 0) return { read, added };
    for await (const line of readLines(path)) {
      read++;
      if (batch.push(exportedRow(line, path)) === ROWS_AT_ONCE) added += this.putMany(batch.splice(0));
    }
    return { read, added: added + this.putMany(batch) };
  }

  close(): void {
    this.leases?.close();
    this.owner?.close();
    this.database.close();
  }

  private *exportedLines(keys: readonly string[]): Generator<string> {
    for (let start = 0; start < keys.length; start += ROWS_AT_ONCE) {
      const batch = keys.slice(start, start + ROWS_AT_ONCE);
      const rows = this.getRows(batch);
      yield batch.map((key) => `${JSON.stringify(rows.get(key))}\n`).join('');
    }
  }

  private insertRow(key: string, row: AnnotationRow & { readonly date?: string }): number {
    const { usage } = row.judgement;
    return this.database.write(
      `INSERT OR IGNORE INTO annotation VALUES
       (?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), ?, ?)`,
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
    );
  }
}

const foundSchema = z.object({
  key: z.string(),
  judgement: jsonColumn(
    // Our own rows were checked when they were written. Looking only whether they are judgements at all lets 100,000
    // be read in well under a second.
    z.unknown().transform((stored) => {
      const judgement = stored as Judgement;
      return judgement?.usage && judgement.transcript ? judgement : judgementSchema.parse(stored);
    }),
  ),
});

const storedSchema = z.object({
  key: z.string(),
  request: z.string(),
  rawResponse: z.string().nullable(),
  judgement: jsonColumn(judgementSchema),
  latencyMs: z.number().nullable(),
  date: z.string(),
  threadId: z.string(),
  prefixLength: z.number(),
});

const lineSchema = annotationRowSchema.extend({ key: z.string(), date: z.iso.datetime({ offset: true }) });
type ExportedRow = Omit<z.infer<typeof lineSchema>, 'key'>;

function exportedRow({ text, number }: TextLine, path: string): ExportedRow {
  const { key, ...row } = storedLine(text, { path, number, schema: lineSchema, remedy: 'export the store again' });
  const expected = keyOf(row.request);
  if (key !== expected)
    throw new InputError(
      `${path}:${number}: the key ${key} does not belong to its request, whose key is ${expected}; the line was changed after the export`,
    );
  return row;
}
