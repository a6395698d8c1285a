import { SqliteFile, type SqliteForm } from '../../src/sqlite-file.ts';

const TABLES = `
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
    owner TEXT PRIMARY KEY, place TEXT NOT NULL, pid INTEGER NOT NULL, expires INTEGER NOT NULL
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
`;

const form: SqliteForm = {
  name: 'annotation store',
  applicationId: 0x45415253,
  version: 4,
  tables: TABLES,
  otherVersion: 'run again with a new store, after an `earshot annotations export` by that version and an import here',
  damaged: 'restore it from an export or a copy',
};

/** The database of an annotation store. */
export class AnnotationDatabase extends SqliteFile {
  constructor(path: string) {
    super(path, form);
  }
}
