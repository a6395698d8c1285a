import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';
import { storeOwner } from './store-owner.ts';

/**
 * Which store object of which process is asking which question right now, so that no other asks it, too. The transaction that
 * stores a judgement ends the lease; those of an owner that is gone are free.
 */
export function leaseTable(database: AnnotationDatabase, owner = storeOwner(database)) {
  /** What this object holds; whoever else asks in this process waits for it like any other. */
  const held = new Set<string>();

  /**
   * Leases these questions. Returns those that nobody else is asking. Their judgements may have come since the caller
   * looked for them, so it has to look again.
   */
  function take(keys: readonly string[]): Set<string> {
    const wanted = keys.filter((key) => !held.has(key));
    if (wanted.length === 0) return new Set();
    const values = [JSON.stringify(wanted), owner.id];
    const taken = database.transaction(() => {
      owner.renew();
      owner.removeGoneOwners();
      database.write('DELETE FROM lease WHERE owner NOT IN (SELECT owner FROM lease_owner)');
      database.write('INSERT OR IGNORE INTO lease SELECT value, ?2 FROM json_each(?1)', ...values);
      const leased = 'SELECT key FROM lease WHERE owner = ?2 AND key IN (SELECT value FROM json_each(?1))';
      return database.read(leased, values, keySchema).map(({ key }) => key);
    });
    for (const key of taken) held.add(key);
    return new Set(taken);
  }

  /** Gives these up, as far as they are our own. */
  function release(keys: readonly string[]): void {
    if (keys.length === 0) return;
    for (const key of keys) held.delete(key);
    database.write(
      'DELETE FROM lease WHERE owner = ?2 AND key IN (SELECT value FROM json_each(?1))',
      JSON.stringify(keys),
      owner.id,
    );
  }

  /** Ends leases, whoever has them, as part of the transaction that stores what was asked. */
  function end(keys: readonly string[]): void {
    for (const key of keys) held.delete(key);
    database.write('DELETE FROM lease WHERE key IN (SELECT value FROM json_each(?))', JSON.stringify(keys));
  }

  /** Gives up everything, as far as the store can still be written to; the rest ends with its owner. */
  function close(): void {
    try {
      release([...held]);
    } catch {
      // A full disk, for example.
    }
  }

  return { take, release, end, close };
}

export type LeaseTable = ReturnType<typeof leaseTable>;

const keySchema = z.object({ key: z.string() });
