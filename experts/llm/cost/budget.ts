import { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import type { Endpoint } from '../endpoint.ts';
import { BudgetSpentError } from '../failures.ts';
import {
  addedSpending,
  type CountedSpending,
  type Ledger,
  type LedgerChange,
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
  /** Returns when the spending is stored. */
  settle(took: Took): Promise<void>;
}

const UNITS = ['tokens', 'money'] as const;

/** Time between two checks of other processes' reservations. */
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 500;

interface WaitingReservation {
  readonly model: string;
  readonly most: Spending;
  grant(reservation: Reservation): void;
  reject(error: unknown): void;
}

/**
 * Decides before each request whether it may be sent. A request reserves its largest estimated cost, times the model's
 * largest ratio of cost to estimate so far, so the limits hold even during many requests. Before a model's first
 * answer, its requests run one at a time, because estimates may be far off. A request that only reservations block
 * waits until they are settled, here or in another process. Each turn of the event loop is one transaction of the
 * ledger.
 */
export class Budget {
  private readonly limits: BudgetLimits;
  private readonly ledger: Ledger;
  private readonly waiting = new Set<WaitingReservation>();
  private readonly reserved = new Map<string, CountedSpending>();
  /** Spending that is not in the ledger yet. */
  private unwritten = nothingSpent;
  private readonly ratios = new Map<string, number>();
  private readonly settling: (() => void)[] = [];
  private turn: NodeJS.Immediate | null = null;
  private look: NodeJS.Timeout | null = null;
  private lookMs = FIRST_LOOK_MS;

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
  reserve({ model, most }: { model: string; most: Spending }, signal: AbortSignal | null = null): Promise<Reservation> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.waiting.delete(waiting);
        reject(signal?.reason);
      };
      const waiting: WaitingReservation = {
        model,
        most,
        grant: (reservation) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(reservation);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.waiting.add(waiting);
      this.schedule();
    });
  }

  private schedule(): void {
    this.turn ??= setImmediate(() => {
      this.turn = null;
      this.transact();
    });
  }

  /** Stores settled spending and decides about all waiting requests. */
  private transact(): void {
    const decided: (() => void)[] = [];
    const granted: { model: string; most: Spending }[] = [];
    const unwritten = this.unwritten;
    try {
      this.ledger.transact((state) => {
        // A store may begin a transaction twice.
        decided.length = granted.length = 0;
        const change = this.decide(state, { decided, granted });
        return { ...change, spent: addedSpending(change.spent, unwritten) };
      });
    } catch (error) {
      for (const waiting of this.waiting) waiting.reject(error);
      this.waiting.clear();
      this.settled();
      return;
    }
    this.unwritten = nothingSpent;
    for (const { model, most } of granted) this.addReserved(model, { requests: 1, ...most });
    for (const tell of decided) tell();
    this.settled();
    this.lookElsewhere(granted.length > 0);
  }

  private settled(): void {
    for (const tell of this.settling.splice(0)) tell();
  }

  private decide(
    state: LedgerState,
    outcome: { decided: (() => void)[]; granted: { model: string; most: Spending }[] },
  ): LedgerChange {
    let requests = 0;
    const reserved = new Map(this.reserved);
    const spent = addedSpending(state.spent, this.unwritten);
    for (const waiting of this.waiting) {
      const { model } = waiting;
      const ratio = Math.max(state.ratios.get(model) ?? 1, this.ratios.get(model) ?? 1);
      const most = { tokens: ratio * waiting.most.tokens, money: ratio * waiting.most.money };
      const verdict = this.verdict({ ...state, spent: { ...spent, requests: spent.requests + requests } }, reserved, {
        model,
        most,
      });
      if (verdict === 'wait') continue;
      if (verdict === 'grant') {
        requests++;
        reserved.set(model, addedSpending(reserved.get(model) ?? nothingSpent, { requests: 1, ...most }));
        outcome.granted.push({ model, most });
      }
      outcome.decided.push(() => {
        this.waiting.delete(waiting);
        if (verdict === 'grant') waiting.grant(this.reservation(waiting, most));
        else waiting.reject(verdict);
      });
    }
    const ratios = new Map([...this.ratios].filter(([model, ratio]) => ratio > (state.ratios.get(model) ?? 0)));
    return { spent: { ...nothingSpent, requests }, reserved, ratios };
  }

  private verdict(
    { spent, elsewhere, ratios }: LedgerState,
    reserved: ReadonlyMap<string, CountedSpending>,
    { model, most }: { model: string; most: Spending },
  ): 'grant' | 'wait' | BudgetSpentError {
    const { requests } = this.limits;
    if (requests !== null && spent.requests + 1 > requests)
      return new BudgetSpentError(
        `the budget of ${requests} requests is spent${this.where(`${spent.requests} sent so far`)}; ${WHAT_TO_DO}`,
      );
    const underWay = [...elsewhere.values(), ...reserved.values()].reduce(addedSpending, nothingSpent);
    const tooDear = UNITS.find((unit) => spent[unit] + most[unit] > this.limitOf(unit));
    if (tooDear !== undefined) return new BudgetSpentError(this.describe(tooDear, { spent, most }));
    if (UNITS.some((unit) => spent[unit] + underWay[unit] + most[unit] > this.limitOf(unit))) return 'wait';
    const isLimited = UNITS.some((unit) => this.limits[unit] !== null);
    const isUnknown = !ratios.has(model) && !this.ratios.has(model);
    const isUnderWay = (reserved.get(model) ?? elsewhere.get(model) ?? nothingSpent).requests > 0;
    return isLimited && isUnknown && isUnderWay ? 'wait' : 'grant';
  }

  private reservation({ model, most: estimate }: WaitingReservation, most: Spending): Reservation {
    return {
      settle: (took) => {
        this.addReserved(model, { requests: -1, tokens: -most.tokens, money: -most.money });
        const { tokens, money } = took === 'unknown' ? most : typeof took === 'object' ? took : nothingSpent;
        this.unwritten = addedSpending(this.unwritten, { requests: took === 'unsent' ? -1 : 0, tokens, money });
        if (typeof took === 'object') {
          const ratios = UNITS.map((unit) => (estimate[unit] > 0 ? took[unit] / estimate[unit] : 1));
          this.ratios.set(model, Math.max(1, this.ratios.get(model) ?? 1, ...ratios));
        }
        const written = new Promise<void>((resolve) => this.settling.push(resolve));
        this.schedule();
        return written;
      },
    };
  }

  private addReserved(model: string, more: CountedSpending): void {
    const sum = addedSpending(this.reserved.get(model) ?? nothingSpent, more);
    // Sums of fractions need not come back to 0.
    if (sum.requests === 0) this.reserved.delete(model);
    else this.reserved.set(model, sum);
  }

  /** Checks other processes' reservations by time, because no event reports them. */
  private lookElsewhere(hasGranted: boolean): void {
    if (this.waiting.size === 0 || this.look !== null) return;
    this.lookMs = hasGranted ? FIRST_LOOK_MS : Math.min(2 * this.lookMs, LONGEST_LOOK_MS);
    this.look = setTimeout(() => {
      this.look = null;
      if (this.waiting.size > 0) this.schedule();
    }, this.lookMs);
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
