import { statSync } from 'node:fs';
import { z } from 'zod';
import { writeText } from '../../src/atomic-file.ts';
import { counted } from '../../src/counted.ts';
import { readLines, type TextLine } from '../../src/data/text-lines.ts';
import { InputError } from '../../src/errors.ts';
import { storedLine } from '../../src/json-file.ts';
import { existingPath } from '../../src/missing-path.ts';
import { jsonColumn } from '../../src/sqlite-file.ts';
import { type Judgement, judgementSchema } from '../detector.ts';
import {
  type AnnotationCounts,
  type AnnotationFilter,
  countAnnotations,
  type ListedAnnotation,
  listAnnotations,
} from './annotation-list.ts';
import { type AnnotationRequest, type AnnotationRow, annotationRowSchema, keyOf } from './annotation-row.ts';
import { AnnotationDatabase } from './database.ts';
import { type LeaseTable, leaseTable } from './lease-table.ts';
import { type LedgerRow, type LedgerTable, ledgerTable } from './ledger-table.ts';
import { type RequestChain, requestChain } from './request-chain.ts';
import { type ResponseTable, responseTable } from './response-table.ts';
import { type StoreOwner, storeOwner } from './store-owner.ts';
import { type UnreadableTable, unreadableTable } from './unreadable-table.ts';

/** Rows that an export or an import reads at once. */
const ROWS_AT_ONCE = 500;

/** An annotation with its key and the time when it was stored. */
export interface StoredAnnotation extends AnnotationRow {
  readonly key: string;
  readonly date: string;
}

export interface AnnotationStats extends AnnotationCounts {
  /** The size of the file; null for a store in memory. */
  readonly fileBytes: number | null;
  /** Spending per detector or experiment, including failed and unfinished requests. */
  readonly spent: readonly LedgerRow[];
}

/**
 * Annotations in one SQLite file that many processes may read and write, so that no judgement is paid for twice.
 * Nothing expires, the first answer to a question stays, and failures are never stored.
 */
export class AnnotationStore {
  readonly path: string;
  /** The answers of models, word for word. */
  readonly responses: ResponseTable;
  /** Answers that could not be read as judgements. */
  readonly unreadable: UnreadableTable;
  /** The questions that other processes are asking; null for a store in memory. */
  readonly leases: LeaseTable | null;
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
    this.ledgers = ledgerTable(database, this.owner);
  }

  /**
   * @param path a file, created if absent, or `:memory:`
   * @throws InputError if the file is not an annotation store or cannot be used
   */
  static open(path: string): AnnotationStore {
    return new AnnotationStore(path);
  }

  /** Whether there is something to read. SQLite makes a new database of a file of no bytes, and of one byte, too. */
  static isThere(path: string): boolean {
    return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 1;
  }

  /**
   * Opens a store for reading what is there.
   * @throws InputError also for a file that is absent or empty
   */
  static openExisting(path: string): AnnotationStore {
    if (!AnnotationStore.isThere(existingPath(path)))
      throw new InputError(
        `${path} is no annotation store: it has ${counted(statSync(path).size, 'byte')}. Name the file that \`earshot annotate --store\` or a run wrote, or restore it from an export or a copy`,
      );
    return AnnotationStore.open(path);
  }

  keyOf(request: AnnotationRequest): string {
    return keyOf(request);
  }

  /** The stored judgements among `keys`; a key without one is absent from the map. */
  getMany(keys: readonly string[]): Map<string, Judgement> {
    const sql = 'SELECT key, judgement FROM annotation WHERE key IN (SELECT value FROM json_each(?))';
    const rows = this.database.read(sql, [JSON.stringify(keys)], foundSchema);
    return new Map(rows.map(({ key, judgement }) => [key, judgement]));
  }

  /** Whole annotations, validated, for inspection and export. */
  getRows(keys: readonly string[]): Map<string, StoredAnnotation> {
    const sql = `SELECT key, request, raw_response AS rawResponse, judgement, latency_ms AS latencyMs, date,
                 thread_id AS threadId, prefix_length AS prefixLength
                 FROM annotation WHERE key IN (SELECT value FROM json_each(?))`;
    const request = z.string().transform((id) => this.chain.read(id));
    const stored = this.database.read(sql, [JSON.stringify(keys)], storedSchema.extend({ request }));
    return new Map(stored.map((row) => [row.key, row]));
  }

  /** Stores a judgement unless its question has one. Returns whether it was new. */
  put(row: AnnotationRow): boolean {
    return this.putMany([row]) === 1;
  }

  /** Stores all rows or none, in one transaction. Returns how many were new. `date` is now by default. */
  putMany(rows: readonly (AnnotationRow & { readonly date?: string })[]): number {
    if (rows.length === 0) return 0;
    const keys = rows.map(({ request }) => keyOf(request));
    try {
      return this.database.transaction(() => {
        const added = rows.reduce((sum, row, index) => sum + this.insertRow(keys[index], row), 0);
        // These questions need no other answer.
        this.unreadable.forget(keys);
        this.leases?.end(keys);
        return added;
      });
    } catch (error) {
      this.chain.forgetWritten();
      throw error;
    }
  }

  /** All keys, ordered by detector, thread and prefix length, so that exports are easy to compare. */
  keys(): string[] {
    return this.list().map(({ key }) => key);
  }

  /** The annotations that match a filter, in the order of `keys`. */
  list(filter: AnnotationFilter = {}): ListedAnnotation[] {
    return listAnnotations(this.database, filter);
  }

  stats(): AnnotationStats {
    const fileBytes = this.path === ':memory:' ? null : statSync(this.path).size;
    return { ...countAnnotations(this.database), fileBytes, spent: this.ledgers.list() };
  }

  /** Writes every annotation as a line of JSON, compressed if the name ends in `.gz`. Returns their number. */
  async export(path: string): Promise<number> {
    const keys = this.keys();
    await writeText(path, { texts: this.exportedLines(keys), what: 'annotations' });
    return keys.length;
  }

  /** Adds the annotations of an exported file. A question that has an answer here keeps it. */
  async import(path: string): Promise<{ read: number; added: number }> {
    let read = 0;
    let added = 0;
    const batch: ExportedRow[] = [];
    // An empty store exports an empty file.
    if (statSync(path, { throwIfNoEntry: false })?.size === 0) return { read, added };
    for await (const line of readLines(path)) {
      read++;
      if (batch.push(parseExportedRow(line, path)) === ROWS_AT_ONCE) added += this.putMany(batch.splice(0));
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
    // Our own rows were validated when they were written. A shallow check reads 100,000 rows in well under a second.
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

function parseExportedRow({ text, number }: TextLine, path: string): ExportedRow {
  const { key, ...row } = storedLine(text, { path, number, schema: lineSchema, remedy: 'export the store again' });
  const expected = keyOf(row.request);
  if (key !== expected)
    throw new InputError(
      `${path}:${number}: the key ${key} does not belong to its request, whose key is ${expected}; the line was changed after the export`,
    );
  return row;
}
