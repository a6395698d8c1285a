/** What requests took, or may take. */
export interface Spending {
  readonly tokens: number;
  readonly money: number;
}

export interface CountedSpending extends Spending {
  readonly requests: number;
}

/** What all who share a ledger have spent, and what others than its reader have under way. */
export interface LedgerState {
  readonly spent: CountedSpending;
  /** Reserved by others, by model. */
  readonly elsewhere: ReadonlyMap<string, CountedSpending>;
  /** The largest ratio of what a request took to what it was estimated at, by model; at least 1. Absent: no answer yet. */
  readonly ratios: ReadonlyMap<string, number>;
}

export interface LedgerChange {
  /** What has come to what was spent. */
  readonly spent: CountedSpending;
  /** What the writer has under way now, by model. A model that is absent has nothing under way. */
  readonly reserved: ReadonlyMap<string, CountedSpending>;
  /** Ratios that were seen, by model; the largest stays. */
  readonly ratios: ReadonlyMap<string, number>;
}

/** An account that a budget is a limit of. What stands in it outlives the process where it is kept in an annotation store. */
export interface Ledger {
  /** Where it is kept, for messages: "in judged.sqlite"; null where it ends with the process. */
  readonly place: string | null;
  /** Reads and changes it in one step: nobody else does in between. */
  transact(change: (state: LedgerState) => LedgerChange): void;
}

export const nothingSpent: CountedSpending = { requests: 0, tokens: 0, money: 0 };

export function addedSpending(one: CountedSpending, other: CountedSpending): CountedSpending {
  return {
    requests: one.requests + other.requests,
    tokens: one.tokens + other.tokens,
    money: one.money + other.money,
  };
}

/** A ledger of one process, which nobody else shares. */
export function ledgerInMemory(): Ledger {
  let spent = nothingSpent;
  const ratios = new Map<string, number>();
  return {
    place: null,
    transact(change) {
      const changed = change({ spent, elsewhere: new Map(), ratios });
      spent = addedSpending(spent, changed.spent);
      for (const [model, ratio] of changed.ratios) ratios.set(model, Math.max(ratio, ratios.get(model) ?? 1));
    },
  };
}
