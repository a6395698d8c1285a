import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';
import { ownIdentity, type ProcessIdentity, stateOf } from './process-identity.ts';

const LEASE_SECONDS = 60;
const RENEWAL_MS = 15_000;
const NOW = `CAST(strftime('%s', 'now') AS INTEGER)`;

/**
 * Which store object of which process is asking which question right now, so that no other asks it, too. Its leases have
 * one row that says who it is and until when, renewed as long as it works. The transaction that stores a judgement ends
 * the lease; those of a process that is gone are free. Whether it is gone is looked up where that can be done, and told
 * by the time of its row elsewhere.
 */
export class LeaseTable {
  private readonly database: AnnotationDatabase;
  private readonly self: ProcessIdentity;
  private readonly owner = randomUUID();
  /** What this object holds; whoever else asks in this process waits for it like any other. */
  private readonly held = new Set<string>();
  private renewal: NodeJS.Timeout | null = null;

  constructor(database: AnnotationDatabase, self = ownIdentity()) {
    this.database = database;
    this.self = self;
  }

  /**
   * Leases these questions. Returns those that nobody else is asking. Their judgements may have come since the caller
   * looked for them, so it has to look again.
   */
  take(keys: readonly string[]): Set<string> {
    const wanted = keys.filter((key) => !this.held.has(key));
    if (wanted.length === 0) return new Set();
    const values = [JSON.stringify(wanted), this.owner];
    const taken = this.database.transaction(() => {
      this.renew();
      this.buryTheDead();
      this.database.write('INSERT OR IGNORE INTO lease SELECT value, ?2 FROM json_each(?1)', ...values);
      const own = 'SELECT key FROM lease WHERE owner = ?2 AND key IN (SELECT value FROM json_each(?1))';
      return this.database.read(own, values, (row) => keySchema.parse(row)[0]);
    });
    for (const key of taken) this.held.add(key);
    this.renewal ??= this.renewing();
    return new Set(taken);
  }

  /** Gives these up, as far as they are our own. */
  release(keys: readonly string[]): void {
    if (keys.length === 0) return;
    for (const key of keys) this.held.delete(key);
    this.database.write(
      'DELETE FROM lease WHERE owner = ?2 AND key IN (SELECT value FROM json_each(?1))',
      JSON.stringify(keys),
      this.owner,
    );
  }

  /** Ends leases, whoever has them, as part of the transaction that stores what was asked. */
  end(keys: readonly string[]): void {
    for (const key of keys) this.held.delete(key);
    this.database.write('DELETE FROM lease WHERE key IN (SELECT value FROM json_each(?))', JSON.stringify(keys));
  }

  /** Gives up everything. A store that cannot be written to any more, such as one on a full disk, is left to time. */
  close(): void {
    if (this.renewal === null) return;
    clearInterval(this.renewal);
    this.renewal = null;
    try {
      this.release([...this.held]);
      this.removeOwner(this.owner);
    } catch {
      // Without its process, or after its time, the row holds nothing.
    }
  }

  private renewing(): NodeJS.Timeout {
    const timer = setInterval(() => {
      try {
        this.renew();
      } catch {
        // Others may take over some day. What is asked will be stored all the same, and the first answer stays.
      }
    }, RENEWAL_MS);
    return timer.unref();
  }

  private renew(): void {
    const { place, pid, started } = this.self;
    const sql = `INSERT OR REPLACE INTO lease_owner VALUES (?, ?, ?, ?, ${NOW} + ${LEASE_SECONDS})`;
    this.database.write(sql, this.owner, place, pid, started);
  }

  private buryTheDead(): void {
    const others = `SELECT owner, place, pid, started, expires < ${NOW} FROM lease_owner WHERE owner <> ?`;
    for (const row of this.database.read(others, [this.owner], (each) => ownerSchema.parse(each))) {
      const [owner, place, pid, started, isExpired] = row;
      const state = stateOf({ place, pid, started }, this.self);
      if (state === 'gone' || (state === 'unknown' && isExpired === 1)) this.removeOwner(owner);
    }
    this.database.write('DELETE FROM lease WHERE owner NOT IN (SELECT owner FROM lease_owner)');
  }

  private removeOwner(owner: string): void {
    this.database.write('DELETE FROM lease_owner WHERE owner = ?', owner);
  }
}

const keySchema = z.tuple([z.string()]);
const ownerSchema = z.tuple([z.string(), z.string(), z.number(), z.string().nullable(), z.number()]);
