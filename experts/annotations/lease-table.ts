import { z } from 'zod';
import type { AnnotationDatabase } from './database.ts';
import { storeOwner } from './store-owner.ts';

/**
 * Leases: each names the store object that is asking a question, so that no other asks it, too. The transaction that
 * stores the judgement ends the lease. Leases of an owner that is gone are free.
 */
export function leaseTable(database: AnnotationDatabase, owner = storeOwner(database)) {
  /** The leases of this object. Other callers in this process wait for them like other processes. */
  const held = new Set<string>();

  /**
   * Leases questions and returns those that no other owner is asking. Look them up again afterwards: their judgements
   * may have been stored since.
   */
  function take(keys: readonly string[]): Set<string> {
    const free = keys.filter((key) => !held.has(key));
    if (free.length === 0) return new Set();
    const values = [JSON.stringify(free), owner.id];
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

  /** Releases this object's leases among `keys`. */
  function release(keys: readonly string[]): void {
    if (keys.length === 0) return;
    for (const key of keys) held.delete(key);
    database.write(
      'DELETE FROM lease WHERE owner = ?2 AND key IN (SELECT value FROM json_each(?1))',
      JSON.stringify(keys),
      owner.id,
    );
  }

  /** Ends leases of any owner, in the transaction that stores the judgements. */
  function end(keys: readonly string[]): void {
    for (const key of keys) held.delete(key);
    database.write('DELETE FROM lease WHERE key IN (SELECT value FROM json_each(?))', JSON.stringify(keys));
  }

  /** Releases all leases of this object. If the store cannot be written, they end with the owner. */
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
