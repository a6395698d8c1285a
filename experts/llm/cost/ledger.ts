/** Spending or reserved spending of requests. */
export interface Spending {
  readonly tokens: number;
  readonly money: number;
}

export interface CountedSpending extends Spending {
  readonly requests: number;
}

/** The state of a ledger: shared spending, and the reservations of others than its reader. */
export interface LedgerState {
  readonly spent: CountedSpending;
  /** Reservations of others, by model. */
  readonly elsewhere: ReadonlyMap<string, CountedSpending>;
  /** The largest ratio of a request's spending to its estimate, by model; at least 1. Absent before an answer. */
  readonly ratios: ReadonlyMap<string, number>;
}

export interface LedgerChange {
  /** New spending. */
  readonly spent: CountedSpending;
  /** The writer's reservations, by model; an absent model has none. */
  readonly reserved: ReadonlyMap<string, CountedSpending>;
  /** Ratios of a request's spending to its estimate that were observed, by model. The ledger keeps the largest. */
  readonly ratios: ReadonlyMap<string, number>;
}

/** An account that a budget limits. In an annotation store it outlives the process. */
export interface Ledger {
  /** The ledger's place for messages, such as "in judged.sqlite"; null if it ends with the process. */
  readonly place: string | null;
  /** Reads and changes the ledger in one transaction. */
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

/** A ledger of this process alone. */
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
