import { z } from 'zod';
import {
  addedSpending,
  type CountedSpending,
  type Ledger,
  type LedgerChange,
  type LedgerState,
  nothingSpent,
} from '../llm/cost/ledger.ts';
import type { AnnotationDatabase } from './database.ts';
import type { StoreOwner } from './store-owner.ts';

/** Owners that are gone are looked for at most this often. */
const RELEASE_INTERVAL_MS = 1000;

const countedSchema = z.object({ requests: z.number(), tokens: z.number(), money: z.number() });
const reservedSchema = countedSchema.extend({ model: z.string() });
const ratioSchema = z.object({ model: z.string(), ratio: z.number() });
const rowSchema = z.object({ name: z.string(), ...countedSchema.shape, since: z.string() });

/** Spending under a name since its first request. */
export type LedgerRow = z.infer<typeof rowSchema>;

/**
 * The ledgers of an annotation store, one per detector file or selector experiment. A killed process's reservations
 * count as spent, because its requests were on their way.
 */
export function ledgerTable(database: AnnotationDatabase, owner: StoreOwner | null) {
  const ownerId = owner?.id ?? '';
  let releasedAtMs = Number.NEGATIVE_INFINITY;

  /** The ledger of this name. Its first request creates its row. */
  function named(name: string): Ledger {
    const { path } = database;
    return {
      place: path === ':memory:' ? null : `by ${name} with the store ${path}`,
      transact: (change) =>
        database.transaction(() => {
          owner?.renew();
          settleExpiredReservations();
          write(name, change(read(name)));
        }),
    };
  }

  /** All ledgers, including the reservations of running processes. */
  function list(): LedgerRow[] {
    const sql = `SELECT name, requests, tokens + total(reserved_tokens) AS tokens, money + total(reserved_money) AS money, since
                 FROM ledger LEFT JOIN (SELECT ledger, tokens AS reserved_tokens, money AS reserved_money FROM reservation)
                 ON ledger = name GROUP BY name ORDER BY name`;
    return database.read(sql, [], rowSchema);
  }

  /** Reserves for a batch, which continues at the endpoint whether a process waits for it or not. */
  function reserveBatch({ name, batch, most }: { name: string; batch: string; most: CountedSpending }): void {
    database.transaction(() => {
      addSpent(name, { ...nothingSpent, requests: most.requests });
      putReserved({ name, owner: batchOwner(batch), model: batch, reserved: most });
    });
  }

  /** Replaces a batch's reservation by its spending, once. */
  function settleBatch({ name, batch, took }: { name: string; batch: string; took: CountedSpending }): void {
    database.transaction(() => {
      const sql = 'DELETE FROM reservation WHERE ledger = ? AND owner = ?';
      if (database.write(sql, name, batchOwner(batch)) > 0) addSpent(name, { ...took, requests: 0 });
    });
  }

  /** Cancels the reservation and the requests of a batch that was not answered. */
  function releaseBatch({ name, batch }: { name: string; batch: string }): void {
    database.transaction(() => {
      const rows = 'FROM reservation WHERE ledger = ? AND owner = ?';
      const values = [name, batchOwner(batch)];
      for (const { requests } of database.read(`SELECT requests, tokens, money ${rows}`, values, countedSchema))
        addSpent(name, { ...nothingSpent, requests: -requests });
      database.write(`DELETE ${rows}`, ...values);
    });
  }

  function read(name: string): LedgerState {
    const spent = database.read('SELECT requests, tokens, money FROM ledger WHERE name = ?', [name], countedSchema);
    const elsewhere = new Map<string, CountedSpending>();
    const sql = 'SELECT model, requests, tokens, money FROM reservation WHERE ledger = ? AND owner <> ?';
    for (const { model, ...counts } of database.read(sql, [name, ownerId], reservedSchema))
      elsewhere.set(model, addedSpending(elsewhere.get(model) ?? nothingSpent, counts));
    const rows = database.read('SELECT model, ratio FROM cost_ratio', [], ratioSchema);
    const ratios = new Map(rows.map(({ model, ratio }) => [model, ratio]));
    return { spent: spent[0] ?? nothingSpent, elsewhere, ratios };
  }

  function write(name: string, { spent, reserved, ratios }: LedgerChange): void {
    addSpent(name, spent);
    database.write('DELETE FROM reservation WHERE ledger = ? AND owner = ?', name, ownerId);
    for (const [model, each] of reserved) putReserved({ name, owner: ownerId, model, reserved: each });
    const sql =
      'INSERT INTO cost_ratio VALUES (?1, ?2) ON CONFLICT (model) DO UPDATE SET ratio = max(ratio, ?2) WHERE ratio < ?2';
    for (const [model, ratio] of ratios) database.write(sql, model, ratio);
  }

  function addSpent(name: string, { requests, tokens, money }: CountedSpending): void {
    const sql = `INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
                 ON CONFLICT (name) DO UPDATE SET requests = requests + ?2, tokens = tokens + ?3, money = money + ?4`;
    database.write(sql, name, requests, tokens, money);
  }

  function putReserved(row: { name: string; owner: string; model: string; reserved: CountedSpending }): void {
    const { requests, tokens, money } = row.reserved;
    const sql = 'INSERT OR REPLACE INTO reservation VALUES (?, ?, ?, ?, ?, ?)';
    database.write(sql, row.name, row.owner, row.model, requests, tokens, money);
  }

  function settleExpiredReservations(): void {
    if (owner === null || performance.now() - releasedAtMs < RELEASE_INTERVAL_MS) return;
    releasedAtMs = performance.now();
    owner.removeGoneOwners();
    const isNobodys = `owner NOT LIKE 'batch %' AND owner NOT IN (SELECT owner FROM lease_owner)`;
    database.write(
      `UPDATE ledger SET tokens = tokens + gone_tokens, money = money + gone_money
       FROM (SELECT ledger, sum(tokens) AS gone_tokens, sum(money) AS gone_money
         FROM reservation WHERE ${isNobodys} GROUP BY ledger)
       WHERE name = ledger`,
    );
    database.write(`DELETE FROM reservation WHERE ${isNobodys}`);
  }

  return { named, list, reserveBatch, settleBatch, releaseBatch };
}

export type LedgerTable = ReturnType<typeof ledgerTable>;

function batchOwner(batch: string): string {
  return `batch ${batch}`;
}
