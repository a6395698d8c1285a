import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'libsql';
import { z } from 'zod';
import { InputError, notOurs } from '../../src/errors.ts';

type Connection = InstanceType<typeof Database>;
type Value = string | number | null | Uint8Array;

/** "EARS" in SQLite's header, so that another program's database is never changed by mistake. */
const APPLICATION_ID = 0x45415253;
const SCHEMA_VERSION = 4;
const BUSY_TIMEOUT_MS = 30_000;

const SCHEMA = `
  -- Requests as chains: the settings, then one row an input item. Prefixes of a thread share all but their last item,
  -- so a thread of n posts costs n rows here and not n²/2 copies of its texts.
  CREATE TABLE fragment (id TEXT PRIMARY KEY, parent TEXT, json TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE annotation (
    key TEXT PRIMARY KEY,
    detector TEXT NOT NULL,
    request TEXT NOT NULL REFERENCES fragment (id),
    raw_response TEXT,
    judgement TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    latency_ms REAL,
    date TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    prefix_length INTEGER NOT NULL
  );
  -- What was said instead of a judgement; it goes when the judgement comes. Later answers have larger numbers.
  CREATE TABLE unreadable_answer (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    detector TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    prefix_length INTEGER NOT NULL,
    problem TEXT NOT NULL,
    answers TEXT NOT NULL,
    date TEXT NOT NULL
  );
  -- What is being asked right now, and by whom.
  CREATE TABLE lease (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE lease_owner (
    owner TEXT PRIMARY KEY, place TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT, expires INTEGER NOT NULL
  ) WITHOUT ROWID;
  -- What models answered. Of the answers to one call at most one is in use; the others could not be read.
  CREATE TABLE response (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    judgement TEXT NOT NULL,
    call TEXT NOT NULL,
    usable INTEGER NOT NULL,
    asked_model TEXT NOT NULL,
    model TEXT,
    fingerprint TEXT,
    finish_reason TEXT NOT NULL,
    answer TEXT NOT NULL,
    body BLOB,
    reader TEXT,
    outcome TEXT,
    date TEXT NOT NULL
  );
  CREATE UNIQUE INDEX response_in_use ON response (judgement, call) WHERE usable = 1;
  CREATE INDEX response_of_judgement ON response (judgement);
  -- What was spent, under the name of what spends it, and what is reserved for requests that are under way.
  CREATE TABLE ledger (
    name TEXT PRIMARY KEY, requests INTEGER NOT NULL, tokens REAL NOT NULL, money REAL NOT NULL, since TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE reservation (
    ledger TEXT NOT NULL, owner TEXT NOT NULL, model TEXT NOT NULL,
    requests INTEGER NOT NULL, tokens REAL NOT NULL, money REAL NOT NULL,
    PRIMARY KEY (ledger, owner, model)
  ) WITHOUT ROWID;
  -- The largest ratio of what a request took to what it was estimated at.
  CREATE TABLE cost_ratio (model TEXT PRIMARY KEY, ratio REAL NOT NULL) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** The database of an annotation store. It prepares each statement once and describes failures in words. */
export class AnnotationDatabase {
  readonly path: string;
  private readonly connection: Connection;
  private readonly statements = new Map<string, Database.Statement<unknown[]>>();

  constructor(path: string) {
    this.path = path;
    this.connection = openConnection(path);
  }

  /** The rows of a query, by the names of their columns. */
  read<T>(sql: string, values: readonly Value[], schema: z.ZodType<T>): T[] {
    return describingFailures(this.path, () => {
      const rows = this.prepared(sql).all(...values);
      return rows.map((row) => schema.parse(row));
    });
  }

  /** Returns how many rows changed. */
  write(sql: string, ...values: readonly Value[]): number {
    return describingFailures(this.path, () => this.prepared(sql).run(...values).changes);
  }

  /** Runs `work` in a transaction that takes the write lock at once, so that it waits at its start and not half-way. */
  transaction<T>(work: () => T): T {
    return describingFailures(this.path, () => inTransaction(this.connection, work));
  }

  close(): void {
    closeConnection(this.connection);
  }

  private prepared(sql: string): Database.Statement<unknown[]> {
    const prepared = this.statements.get(sql);
    if (prepared !== undefined) return prepared;
    const statement = this.connection.prepare<unknown[]>(sql);
    this.statements.set(sql, statement);
    return statement;
  }
}

/**
 * Opens or creates the file for many processes at once. A store that cannot be written, such as one on a read-only
 * disk, is opened for reading; writing to it then fails.
 */
function openConnection(path: string): Connection {
  return describingFailures(path, () => {
    try {
      return openForWriting(path);
    } catch (error) {
      if (!isReadOnly(error) || !isWhole(path)) throw error;
      return openForReading(path);
    }
  });
}

/** Whether the file is complete. Otherwise the write-ahead log must be moved into it, which needs write access. */
function isWhole(path: string): boolean {
  const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return size(path) > 0 && size(`${path}-wal`) === 0;
}

function openForReading(path: string): Connection {
  const address = encodeURI(resolve(path)).replace(/[?#]/g, encodeURIComponent);
  const database = new Database(`file:${address}?immutable=1`);
  try {
    checkFormat(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

const READ_ONLY = /SQLITE_READONLY|SQLITE_PERM|EACCES|EROFS|EPERM|readonly database/;

const BUSY = /SQLITE_BUSY|SQLITE_LOCKED|database is locked/;

const isReadOnly = (error: unknown) => READ_ONLY.test(textOf(error));
const isBusy = (error: unknown) => BUSY.test(textOf(error));

function textOf(error: unknown): string {
  return error instanceof Error ? `${'code' in error ? error.code : ''} ${error.message}` : '';
}

function openForWriting(path: string): Connection {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true });
  const database = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    useWriteAheadLog(database);
    // A killed process loses nothing that was committed. Only a power cut can lose the last commits.
    database.pragma('synchronous = NORMAL');
    inTransaction(database, () => prepareSchema(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite refuses this at once while another process uses the file, whatever the timeout, so it is repeated. */
function useWriteAheadLog(database: Connection): void {
  const waitMs = 5;
  for (let left = BUSY_TIMEOUT_MS; ; left -= waitMs) {
    try {
      database.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || left <= 0) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs);
    }
  }
}

/** Moves the write-ahead log into the file if other processes allow it, so that a copy of the file is complete. */
function closeConnection(database: Connection): void {
  try {
    database.pragma('busy_timeout = 0');
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
  } catch {
    // What could not be moved, because of a reader or a full disk, stays in the -wal file for the next process.
  }
  database.close();
}

function prepareSchema(database: Connection, path: string): void {
  const tables = database.prepare('SELECT name FROM sqlite_master').all().length;
  if (tables === 0) database.exec(SCHEMA);
  else checkFormat(database, path);
}

function checkFormat(database: Connection, path: string): void {
  const applicationId = pragmaNumber(database, 'application_id');
  if (applicationId !== APPLICATION_ID)
    throw new InputError(`${path} is an SQLite database, but not an annotation store; name another file`);
  const version = pragmaNumber(database, 'user_version');
  if (version !== SCHEMA_VERSION)
    throw notOurs(
      path,
      `format ${version}, and this version reads ${SCHEMA_VERSION}`,
      'run again with a new store, after an `earshot annotations export` by that version and an import here',
    );
}

function pragmaNumber(database: Connection, name: string): number {
  const [row] = database.prepare(`PRAGMA ${name}`).raw().all() as [number][];
  return row[0];
}

function inTransaction<T>(database: Connection, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk may have rolled back already.
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

const causesAt = (path: string): readonly { readonly pattern: RegExp; readonly meaning: string }[] => [
  {
    pattern: /SQLITE_NOTADB|SQLITE_CORRUPT|malformed/,
    meaning: 'it is damaged or not an SQLite file; name another file, or restore this one from an export',
  },
  {
    pattern: /SQLITE_FULL|ENOSPC|EDQUOT/,
    meaning: `the disk is full; free some space on the disk of ${dirname(resolve(path))}, or move the store to another one, and run again: what was stored is kept`,
  },
  {
    pattern: READ_ONLY,
    meaning:
      'the file or its folder is read-only, so it can be read but not written; make both writable, or copy the store to a folder that is and name the copy',
  },
  {
    pattern: BUSY,
    meaning: `another process held it for more than ${BUSY_TIMEOUT_MS / 1000} s; run again when that one is done`,
  },
  {
    pattern: /SQLITE_CANTOPEN|SQLITE_IOERR|ConnectionFailed|Unable to open|ENOENT|ENOTDIR|EEXIST|EIO/,
    meaning: 'the file cannot be opened or read; check that its folder exists, is writable and has space',
  },
];

function reasonIn(error: z.ZodError | SyntaxError): string {
  return error instanceof SyntaxError ? error.message : z.prettifyError(error).replace(/\s+/g, ' ');
}

export function jsonColumn<T extends z.ZodType>(schema: T) {
  return z
    .string()
    .transform((json): unknown => JSON.parse(json))
    .pipe(schema);
}

/** Runs `work` and turns errors of SQLite and the file system into errors with a remedy. */
function describingFailures<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof InputError || !(error instanceof Error)) throw error;
    if (error instanceof z.ZodError || error instanceof SyntaxError)
      throw new InputError(
        `the annotation store ${path} holds a damaged row; restore it from an export or a copy (${reasonIn(error)})`,
        { cause: error },
      );
    const code = 'code' in error ? String(error.code) : '';
    const cause = causesAt(path).find(({ pattern }) => pattern.test(`${code} ${error.message}`));
    if (cause === undefined) throw error;
    throw new InputError(`the annotation store ${path}: ${cause.meaning} (${code || 'open'}: ${error.message})`, {
      cause: error,
    });
  }
}
