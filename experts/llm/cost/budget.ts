import { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import { sleep } from '../../../src/sleep.ts';
import type { Endpoint } from '../endpoint.ts';
import { BudgetSpentError } from '../failures.ts';
import {
  addedSpending,
  type CountedSpending,
  type Ledger,
  type LedgerState,
  ledgerInMemory,
  nothingSpent,
  type Spending,
} from './ledger.ts';
import { priceList, pricesOf } from './prices.ts';

const limit = z.number().nonnegative().nullable().default(null);

export const budgetSchema = z
  .strictObject({
    requests: limit.describe('most requests sent, including retries; null: no limit'),
    tokens: limit.describe('most input and output tokens together'),
    money: limit.describe("most money spent, in the currency of the endpoints' prices"),
  })
  .describe(
    'what language models may cost in all: every process, run and resume that shares the annotation store counts, failed requests included',
  );

export type BudgetLimits = z.infer<typeof budgetSchema>;

/**
 * The outcome of a request: its spending; `unsent` if it was not sent; `nothing` if it was refused or never arrived,
 * which is free; `unknown` if it may have been answered, so that it counts with its whole reservation.
 */
export type Took = Spending | 'unsent' | 'nothing' | 'unknown';

export interface Reservation {
  /** Replaces the reservation by the spending. */
  settle(took: Took): void;
}

const UNITS = ['tokens', 'money'] as const;

/** Time between two checks of other processes' reservations. */
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 500;

interface ReservedRequest {
  readonly model: string;
  readonly most: Spending;
}

/**
 * Decides before each request whether it may be sent. A request reserves its largest estimated cost, times the model's
 * largest ratio of cost to estimate so far, so the limits hold even during many requests. Before a model's first
 * answer, its requests run one at a time, because estimates may be far off. A request that only reservations block
 * waits until they are settled, here or in another process.
 */
export class Budget {
  private readonly limits: BudgetLimits;
  private readonly ledger: Ledger;
  private reserved = new Map<string, CountedSpending>();
  private readonly ratios = new Map<string, number>();
  /** Spending that could not be written, as on a full disk. */
  private unwritten = nothingSpent;
  /** Aborted by the next settlement. */
  private settlement = new AbortController();

  constructor(limits: z.input<typeof budgetSchema> = {}, ledger: Ledger = ledgerInMemory()) {
    this.limits = budgetSchema.parse(limits);
    this.ledger = ledger;
  }

  /** @throws InputError if money is limited and the endpoint has no prices, so that nothing would be counted */
  checkPrices(endpoint: Endpoint): void {
    checkPrices({ limits: this.limits, endpoint });
  }

  /**
   * @param request.model the model with its address
   * @param request.most the largest estimated spending
   * @throws BudgetSpentError before anything is sent; the signal's reason after an abort
   */
  async reserve(request: ReservedRequest, signal: AbortSignal | null = null): Promise<Reservation> {
    // No event reports what other processes settle, so it is looked at by time.
    for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS)) {
      signal?.throwIfAborted();
      const reservation = this.reservation(request);
      if (reservation !== null) return reservation;
      const ended = AbortSignal.any([this.settlement.signal, ...(signal ? [signal] : [])]);
      await sleep(lookMs, ended).catch(() => {});
    }
  }

  /** Null if the request has to wait. */
  private reservation({ model, most: estimate }: ReservedRequest): Reservation | null {
    const outcome: { most?: CountedSpending; refusal?: string | null } = {};
    this.transact((state, reserved) => {
      const ratio = state.ratios.get(model) ?? 1;
      const most = { requests: 1, tokens: ratio * estimate.tokens, money: ratio * estimate.money };
      outcome.refusal = this.refusal(state, most);
      if (outcome.refusal !== null || this.mustWait(state, { model, most })) return nothingSpent;
      addReserved(reserved, { model, more: most });
      outcome.most = most;
      return { ...nothingSpent, requests: 1 };
    });
    const { most, refusal } = outcome;
    if (refusal) throw new BudgetSpentError(refusal);
    return most === undefined ? null : { settle: (took) => this.settle(took, { model, estimate, most }) };
  }

  private settle(
    took: Took,
    { model, estimate, most }: { model: string; estimate: Spending; most: CountedSpending },
  ): void {
    const { tokens, money } = took === 'unknown' ? most : typeof took === 'object' ? took : nothingSpent;
    addReserved(this.reserved, { model, more: { requests: -1, tokens: -most.tokens, money: -most.money } });
    if (typeof took === 'object') {
      const ratios = UNITS.map((unit) => (estimate[unit] > 0 ? took[unit] / estimate[unit] : 1));
      this.ratios.set(model, Math.max(1, this.ratios.get(model) ?? 1, ...ratios));
    }
    this.unwritten = addedSpending(this.unwritten, { requests: took === 'unsent' ? -1 : 0, tokens, money });
    try {
      this.transact(() => nothingSpent);
    } catch {
      // The next request meets the same problem and reports it. This one is answered already.
    }
    this.settlement.abort();
    this.settlement = new AbortController();
  }

  /** Adds what `change` returns and everything unwritten to the ledger. */
  private transact(change: (state: LedgerState, reserved: Map<string, CountedSpending>) => CountedSpending): void {
    const reserved = new Map(this.reserved);
    this.ledger.transact((state) => {
      const spent = change({ ...state, spent: addedSpending(state.spent, this.unwritten) }, reserved);
      return { spent: addedSpending(spent, this.unwritten), reserved, ratios: this.ratios };
    });
    this.reserved = reserved;
    this.unwritten = nothingSpent;
  }

  /** The reason why the request exceeds the budget even without the requests in progress; null if it does not. */
  private refusal({ spent }: LedgerState, most: Spending): string | null {
    const { requests } = this.limits;
    if (requests !== null && spent.requests + 1 > requests)
      return `the budget of ${requests} requests is spent${this.where(`${spent.requests} sent so far`)}; ${WHAT_TO_DO}`;
    const tooDear = UNITS.find((unit) => spent[unit] + most[unit] > this.limitOf(unit));
    return tooDear === undefined ? null : this.describe(tooDear, { spent, most });
  }

  private mustWait(
    { spent, elsewhere, ratios }: LedgerState,
    { model, most }: { model: string; most: Spending },
  ): boolean {
    const underWay = [...elsewhere.values(), ...this.reserved.values()].reduce(addedSpending, nothingSpent);
    if (UNITS.some((unit) => spent[unit] + underWay[unit] + most[unit] > this.limitOf(unit))) return true;
    const isLimited = UNITS.some((unit) => this.limits[unit] !== null);
    return isLimited && !ratios.has(model) && (this.reserved.has(model) || elsewhere.has(model));
  }

  private limitOf(unit: (typeof UNITS)[number]): number {
    return this.limits[unit] ?? Number.POSITIVE_INFINITY;
  }

  private describe(unit: (typeof UNITS)[number], { spent, most }: { spent: Spending; most: Spending }): string {
    const show = (value: number) => (unit === 'tokens' ? String(Math.ceil(value)) : value.toPrecision(4));
    return (
      `the budget of ${this.limits[unit]} ${unit === 'tokens' ? 'tokens' : 'of money'} is spent: ${show(spent[unit])} used` +
      `${this.where()}, and the next request may cost ${show(most[unit])}; ${WHAT_TO_DO}`
    );
  }

  private where(detail?: string): string {
    const { place } = this.ledger;
    if (place === null) return '';
    return detail === undefined ? ` so far ${place}` : ` (${detail} ${place})`;
  }
}

function addReserved(
  reserved: Map<string, CountedSpending>,
  { model, more }: { model: string; more: CountedSpending },
): void {
  const sum = addedSpending(reserved.get(model) ?? nothingSpent, more);
  // Sums of fractions need not come back to 0.
  if (sum.requests === 0) reserved.delete(model);
  else reserved.set(model, sum);
}

/** @throws InputError if money is limited and the endpoint has no prices, so that nothing would be counted */
export function checkPrices({ limits, endpoint }: { limits: BudgetLimits; endpoint: Endpoint }): void {
  if (limits.money === null || pricesOf(endpoint) !== null) return;
  throw new InputError(
    `the budget allows ${limits.money} of money, but what the model ${endpoint.model} at endpoint ${endpoint.name} costs is ` +
      `not known to ${priceList().name}: give the endpoint prices (inputPerMillion, outputPerMillion; {} if it is free), name a price ` +
      'list of your own in EARSHOT_PRICES, or limit tokens or requests instead',
  );
}

const WHAT_TO_DO = 'run again with a larger budget to go on';
