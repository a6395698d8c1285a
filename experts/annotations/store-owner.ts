import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';

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

/** Identifies a process among all machines that share a file. */
export interface ProcessIdentity {
  /** The scope of the process number: host, boot and process namespace. */
  readonly place: string;
  readonly pid: number;
  /** Start time in ticks since the boot, because numbers are reused; null if the system does not report it. */
  readonly started: string | null;
}

export function ownIdentity(): ProcessIdentity {
  const boot = orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = orNull(() => readlinkSync('/proc/self/ns/pid'));
  // Two containers may have the same host name and the same process number.
  const place = [hostname(), boot, namespace].filter((part) => part !== null).join(' ');
  return { place, pid: process.pid, started: statOf(process.pid)?.started ?? null };
}

/** Whether a process runs; unknown for a process of another host, or one that is stopped and may continue. */
export function stateOf(other: ProcessIdentity, self: ProcessIdentity): 'running' | 'gone' | 'unknown' {
  if (other.place !== self.place) return 'unknown';
  if (!exists(other.pid)) return 'gone';
  const stat = statOf(other.pid);
  if (stat === null || other.started === null) return 'unknown';
  if (stat.started !== other.started || 'ZX'.includes(stat.state)) return 'gone';
  return 'Tt'.includes(stat.state) ? 'unknown' : 'running';
}

function exists(pid: number): boolean {
  try {
    // Signal 0 only tests. If it may not be sent, the process exists.
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** Null without /proc, or if it counts the processes of another namespace. */
function statOf(pid: number): { readonly state: string; readonly started: string } | null {
  if (orNull(() => readlinkSync('/proc/self')) !== String(process.pid)) return null;
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The name in brackets may contain anything, including brackets and spaces.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined ? null : { state: fields[0], started: fields[19] };
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
