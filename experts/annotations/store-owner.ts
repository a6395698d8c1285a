import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';

const EXPIRY_SECONDS = 60;
const RENEWAL_MS = 15_000;
const NOW = `CAST(strftime('%s', 'now') AS INTEGER)`;

/** Identifies a process among all machines that share a file. */
export interface ProcessIdentity {
  /** The scope of the process number: host, boot and process namespace. */
  readonly place: string;
  readonly pid: number;
}

/**
 * A store object of a process as the owner of leases and reservations. Its row in the table says who it is and until
 * when, and is renewed while it works. An owner is gone when its time is over or, at once, when no process of this
 * machine has its number.
 */
export function storeOwner(database: AnnotationDatabase, self = ownIdentity()) {
  const id = randomUUID();
  let renewal: NodeJS.Timeout | null = null;

  /** Writes the owner's row and renews it from now on. Called with everything that it will hold. */
  function renew(): void {
    const sql = `INSERT OR REPLACE INTO lease_owner (owner, place, pid, expires) VALUES (?, ?, ?, ${NOW} + ${EXPIRY_SECONDS})`;
    database.write(sql, id, self.place, self.pid);
    renewal ??= renewing();
  }

  function removeGoneOwners(): void {
    const others = `SELECT owner, place, pid, expires < ${NOW} AS isExpired FROM lease_owner WHERE owner <> ?`;
    for (const { owner, place, pid, isExpired } of database.read(others, [id], ownerSchema))
      if (isExpired === 1 || (place === self.place && !exists(pid))) remove(owner);
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

const ownerSchema = z.object({ owner: z.string(), place: z.string(), pid: z.number(), isExpired: z.number() });

export function ownIdentity(): ProcessIdentity {
  const boot = orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = orNull(() => readlinkSync('/proc/self/ns/pid'));
  // Two containers may have the same host name and the same process number.
  return { place: [hostname(), boot, namespace].filter((part) => part !== null).join(' '), pid: process.pid };
}

function exists(pid: number): boolean {
  try {
    // Signal 0 only tests. If it may not be sent, the process exists.
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
