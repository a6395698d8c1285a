import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';
import { ownIdentity, stateOf } from './process-identity.ts';

const EXPIRY_SECONDS = 60;
const RENEWAL_MS = 15_000;
const NOW = `CAST(strftime('%s', 'now') AS INTEGER)`;

/**
 * A store object of a process as the owner of leases and reservations. Its row in the table says who it is and until
 * when, and is renewed while it works. Leases of a process that is gone are free. The process is looked up if possible;
 * otherwise the time of its row decides.
 */
export function storeOwner(database: AnnotationDatabase, self = ownIdentity()) {
  const id = randomUUID();
  let renewal: NodeJS.Timeout | null = null;

  /** Writes the owner's row and renews it from now on. Called with everything that it will hold. */
  function renew(): void {
    const { place, pid, started } = self;
    const sql = `INSERT OR REPLACE INTO lease_owner VALUES (?, ?, ?, ?, ${NOW} + ${EXPIRY_SECONDS})`;
    database.write(sql, id, place, pid, started);
    renewal ??= renewing();
  }

  function removeGoneOwners(): void {
    const others = `SELECT owner, place, pid, started, expires < ${NOW} AS isExpired FROM lease_owner WHERE owner <> ?`;
    for (const { owner, isExpired, ...identity } of database.read(others, [id], ownerSchema)) {
      const state = stateOf(identity, self);
      if (state === 'gone' || (state === 'unknown' && isExpired === 1)) remove(owner);
    }
  }

  /** Deletes the owner's row. If the store cannot be written, such as on a full disk, the row expires. */
  function close(): void {
    if (renewal === null) return;
    clearInterval(renewal);
    renewal = null;
    try {
      remove(id);
    } catch {
      // Without its process, or after its time, the row holds nothing.
    }
  }

  function renewing(): NodeJS.Timeout {
    const timer = setInterval(() => {
      try {
        renew();
      } catch {
        // Others may take over some day. What is asked will be stored all the same, and the first answer stays.
      }
    }, RENEWAL_MS);
    return timer.unref();
  }

  function remove(owner: string): void {
    database.write('DELETE FROM lease_owner WHERE owner = ?', owner);
  }

  return { id, renew, removeGoneOwners, close };
}

export type StoreOwner = ReturnType<typeof storeOwner>;

const ownerSchema = z.object({
  owner: z.string(),
  place: z.string(),
  pid: z.number(),
  started: z.string().nullable(),
  isExpired: z.number(),
});
