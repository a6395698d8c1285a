import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';
import { ownIdentity, type ProcessIdentity, stateOf } from './process-identity.ts';

const EXPIRY_SECONDS = 60;
const RENEWAL_MS = 15_000;
const NOW = `CAST(strftime('%s', 'now') AS INTEGER)`;

/**
 * One store object of one process, as whoever holds something in the store: it has a row that says who it is and until when,
 * renewed as long as it works. What is held by a process that is gone is held by nobody. Whether it is gone is looked up
 * where that can be done, and told by the time of its row elsewhere.
 */
export class StoreOwner {
  readonly id = randomUUID();
  private readonly database: AnnotationDatabase;
  private readonly self: ProcessIdentity;
  private renewal: NodeJS.Timeout | null = null;

  constructor(database: AnnotationDatabase, self = ownIdentity()) {
    this.database = database;
    this.self = self;
  }

  /** Writes the row, and keeps it from now on. To be called with everything that is to be held. */
  renew(): void {
    const { place, pid, started } = this.self;
    const sql = `INSERT OR REPLACE INTO lease_owner VALUES (?, ?, ?, ?, ${NOW} + ${EXPIRY_SECONDS})`;
    this.database.write(sql, this.id, place, pid, started);
    this.renewal ??= this.renewing();
  }

  /** Removes the rows of processes that are gone. */
  buryTheDead(): void {
    const others = `SELECT owner, place, pid, started, expires < ${NOW} AS isExpired FROM lease_owner WHERE owner <> ?`;
    for (const { owner, isExpired, ...identity } of this.database.read(others, [this.id], ownerSchema)) {
      const state = stateOf(identity, this.self);
      if (state === 'gone' || (state === 'unknown' && isExpired === 1)) this.remove(owner);
    }
  }

  /** Ends the holding. A store that cannot be written to any more, such as one on a full disk, is left to time. */
  close(): void {
    if (this.renewal === null) return;
    clearInterval(this.renewal);
    this.renewal = null;
    try {
      this.remove(this.id);
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

  private remove(owner: string): void {
    this.database.write('DELETE FROM lease_owner WHERE owner = ?', owner);
  }
}

const ownerSchema = z.object({
  owner: z.string(),
  place: z.string(),
  pid: z.number(),
  started: z.string().nullable(),
  isExpired: z.number(),
});
