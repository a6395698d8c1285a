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
   * Leases a question, unless another owner is asking it. Look it up again afterwards: its judgement may have been
   * stored since.
   */
  function take(key: string): boolean {
    if (held.has(key)) return false;
    const insert = () => database.write('INSERT OR IGNORE INTO lease VALUES (?, ?)', key, owner.id) === 1;
    const isTaken = database.transaction(() => {
      owner.renew();
      if (insert()) return true;
      owner.removeGoneOwners();
      database.write('DELETE FROM lease WHERE owner NOT IN (SELECT owner FROM lease_owner)');
      return insert();
    });
    if (isTaken) held.add(key);
    return isTaken;
  }

  function release(key: string): void {
    held.delete(key);
    database.write('DELETE FROM lease WHERE owner = ? AND key = ?', owner.id, key);
  }

  /** Ends leases of any owner, in the transaction that stores the judgements. */
  function end(keys: readonly string[]): void {
    for (const key of keys) held.delete(key);
    database.write('DELETE FROM lease WHERE key IN (SELECT value FROM json_each(?))', JSON.stringify(keys));
  }

  /** Releases all leases of this object. If the store cannot be written, they end with the owner. */
  function close(): void {
    try {
      if (held.size > 0) database.write('DELETE FROM lease WHERE owner = ?', owner.id);
    } catch {
      // A full disk, for example.
    }
  }

  return { take, release, end, close };
}

export type LeaseTable = ReturnType<typeof leaseTable>;
