import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { type AnnotationDatabase, describingFailures, inTransaction } from './database.ts';

const LEASE_SECONDS = 60;
const RENEWAL_MS = 15_000;
const NOW = `CAST(strftime('%s', 'now') AS INTEGER)`;

/**
 * Which process is asking which question right now, so that no other asks it, too. All claims of a process are one lease,
 * which it renews as long as it lives. The transaction that stores a judgement deletes its claim; those of a process that
 * was killed fall to the next one: at once on the same machine, otherwise when the lease has ended.
 */
export class ClaimTable {
  private readonly path: string;
  private readonly database: AnnotationDatabase;
  private readonly owner = randomUUID();
  private renewal: NodeJS.Timeout | null = null;
  private readonly insert;
  private readonly selectOwn;
  private readonly remove;
  private readonly removeOwn;
  private readonly selectOthers;

  constructor(options: { path: string; database: AnnotationDatabase }) {
    const { path, database } = options;
    this.path = path;
    this.database = database;
    this.insert = database.prepare(
      `INSERT INTO claim SELECT value, ?2 FROM json_each(?1) WHERE true
       ON CONFLICT (key) DO UPDATE SET owner = excluded.owner WHERE owner = excluded.owner`,
    );
    this.selectOwn = database
      .prepare('SELECT key FROM claim WHERE owner = ?2 AND key IN (SELECT value FROM json_each(?1))')
      .raw();
    this.remove = database.prepare('DELETE FROM claim WHERE key IN (SELECT value FROM json_each(?))');
    this.removeOwn = database.prepare(
      'DELETE FROM claim WHERE owner = ?2 AND key IN (SELECT value FROM json_each(?1))',
    );
    this.selectOthers = database
      .prepare(`SELECT owner, host, pid, expires < ${NOW} FROM claimant WHERE owner <> ?`)
      .raw();
  }

  /**
   * Claims these questions. Returns those that nobody else is asking. Their judgements may have come since the caller
   * looked for them, so it has to look again.
   */
  take(keys: readonly string[]): Set<string> {
    if (keys.length === 0) return new Set();
    return describingFailures(this.path, () =>
      inTransaction(this.database, () => {
        if (this.renewal === null) this.begin();
        this.buryTheDead();
        const query = JSON.stringify(keys);
        this.insert.run(query, this.owner);
        return new Set(this.selectOwn.all(query, this.owner).map((row) => keySchema.parse(row)[0]));
      }),
    );
  }

  /** Gives these up, as far as they are our own. */
  release(keys: readonly string[]): void {
    if (keys.length === 0 || this.renewal === null) return;
    describingFailures(this.path, () => this.removeOwn.run(JSON.stringify(keys), this.owner));
  }

  /** Forgets claims, whoever has them, as part of a transaction that the caller has begun. */
  forgetWithin(keys: readonly string[]): void {
    this.remove.run(JSON.stringify(keys));
  }

  /** Gives up everything. A store that cannot be written to any more, such as one on a full disk, is left to time. */
  close(): void {
    if (this.renewal === null) return;
    clearInterval(this.renewal);
    this.renewal = null;
    try {
      inTransaction(this.database, () => this.forgetClaimant(this.owner));
    } catch {
      // The lease ends by itself, and this process is about to.
    }
  }

  private begin(): void {
    this.renew();
    this.renewal = setInterval(() => {
      try {
        this.renew();
      } catch {
        // Others may take over now. What is asked will be stored all the same, and the first answer stays.
      }
    }, RENEWAL_MS);
    this.renewal.unref();
  }

  private renew(): void {
    this.database
      .prepare(`INSERT OR REPLACE INTO claimant VALUES (?, ?, ?, ${NOW} + ${LEASE_SECONDS})`)
      .run(this.owner, hostname(), process.pid);
  }

  private buryTheDead(): void {
    for (const row of this.selectOthers.all(this.owner)) {
      const [owner, host, pid, isExpired] = claimantSchema.parse(row);
      if (isExpired === 1 || (host === hostname() && !isAlive(pid))) this.forgetClaimant(owner);
    }
  }

  private forgetClaimant(owner: string): void {
    this.database.prepare('DELETE FROM claim WHERE owner = ?').run(owner);
    this.database.prepare('DELETE FROM claimant WHERE owner = ?').run(owner);
  }
}

function isAlive(pid: number): boolean {
  try {
    // Signal 0 only asks. Where it may not be sent, there is somebody.
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

const keySchema = z.tuple([z.string()]);
const claimantSchema = z.tuple([z.string(), z.string(), z.number(), z.number()]);
