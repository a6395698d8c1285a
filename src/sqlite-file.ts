import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'libsql';
import { z } from 'zod';
import { InputError, notOurs } from './errors.ts';

type Connection = InstanceType<typeof Database>;
type Value = string | number | null | Uint8Array;

const BUSY_TIMEOUT_MS = 30_000;

/** The tables of a file, and how they are made. */
export interface SqliteForm {
  /** Names the file in messages, such as "annotation store". */
  readonly name: string;
  /** The id in SQLite's header, so that another program's database is never changed by mistake. */
  readonly applicationId: number;
  readonly version: number;
  /** The statements that make the tables. */
  readonly tables: string;
  /** The remedy for a file of another version. */
  readonly otherVersion: string;
  /** The remedy for a damaged file. */
  readonly damaged: string;
}

/** A database that many processes share. It prepares each statement once and describes failures in words. */
export class SqliteFile {
  readonly path: string;
  private readonly form: SqliteForm;
  private readonly connection: Connection;
  private readonly statements = new Map<string, Database.Statement<unknown[]>>();

  constructor(path: string, form: SqliteForm) {
    this.path = path;
    this.form = form;
    this.connection = openConnection(path, form);
  }

  /** The rows of a query, by the names of their columns. */
  read<T>(sql: string, values: readonly Value[], schema: z.ZodType<T>): T[] {
    return describingFailures(this.path, this.form, () => {
      const rows = this.prepared(sql).all(...values);
      return rows.map((row) => schema.parse(row));
    });
  }

  /** Returns how many rows changed. */
  write(sql: string, ...values: readonly Value[]): number {
    return describingFailures(this.path, this.form, () => this.prepared(sql).run(...values).changes);
  }

  /** Runs `work` in a transaction that takes the write lock at once, so that it waits at its start and not half-way. */
  transaction<T>(work: () => T): T {
    return describingFailures(this.path, this.form, () => inTransaction(this.connection, work));
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
function openConnection(path: string, form: SqliteForm): Connection {
  return describingFailures(path, form, () => {
    try {
      return openForWriting(path, form);
    } catch (error) {
      if (!isReadOnly(error) || !isWhole(path)) throw error;
      return openForReading(path, form);
    }
  });
}

/** Whether the file is complete. Otherwise the write-ahead log must be moved into it, which needs write access. */
function isWhole(path: string): boolean {
  const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return size(path) > 0 && size(`${path}-wal`) === 0;
}

function openForReading(path: string, form: SqliteForm): Connection {
  const address = encodeURI(resolve(path)).replace(/[?#]/g, encodeURIComponent);
  return prepare(new Database(`file:${address}?immutable=1`), (database) => checkFormat(database, path, form));
}

/** A database that is ready, and closed if it cannot be. */
function prepare(database: Connection, work: (database: Connection) => void): Connection {
  try {
    work(database);
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

function openForWriting(path: string, form: SqliteForm): Connection {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true });
  return prepare(new Database(path, { timeout: BUSY_TIMEOUT_MS }), (database) => {
    useWriteAheadLog(database);
    // A killed process loses nothing that was committed. Only a power cut can lose the last commits.
    database.pragma('synchronous = NORMAL');
    inTransaction(database, () => prepareSchema(database, path, form));
  });
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

function prepareSchema(database: Connection, path: string, form: SqliteForm): void {
  const tables = database.prepare('SELECT name FROM sqlite_master').all().length;
  if (tables > 0) checkFormat(database, path, form);
  else
    database.exec(
      `${form.tables}; PRAGMA application_id = ${form.applicationId}; PRAGMA user_version = ${form.version};`,
    );
}

function checkFormat(database: Connection, path: string, form: SqliteForm): void {
  if (pragmaNumber(database, 'application_id') !== form.applicationId)
    throw new InputError(`${path} is an SQLite database, but not an ${form.name}; name another file`);
  const version = pragmaNumber(database, 'user_version');
  if (version !== form.version)
    throw notOurs(path, `format ${version}, and this version reads ${form.version}`, form.otherVersion);
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

const causesAt = (
  path: string,
  { damaged }: SqliteForm,
): readonly { readonly pattern: RegExp; readonly meaning: string }[] => [
  {
    pattern: /SQLITE_NOTADB|SQLITE_CORRUPT|malformed/,
    meaning: `it is damaged or not an SQLite file; name another file, or ${damaged}`,
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
function describingFailures<T>(path: string, form: SqliteForm, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof InputError || !(error instanceof Error)) throw error;
    if (error instanceof z.ZodError || error instanceof SyntaxError)
      throw new InputError(`the ${form.name} ${path} holds a damaged row; ${form.damaged} (${reasonIn(error)})`, {
        cause: error,
      });
    const code = 'code' in error ? String(error.code) : '';
    const cause = causesAt(path, form).find(({ pattern }) => pattern.test(`${code} ${error.message}`));
    if (cause === undefined) throw error;
    throw new InputError(`the ${form.name} ${path}: ${cause.meaning} (${code || 'open'}: ${error.message})`, {
      cause: error,
    });
  }
}
