import { z } from 'zod';
import { BudgetSpentError } from './provider-failures.ts';

const limit = z.number().nonnegative().nullable().default(null);

export const budgetSchema = z
  .strictObject({
    requests: limit.describe('requests sent at most, retries included; null: no limit'),
    tokens: limit.describe('input and output tokens at most'),
    money: limit.describe("at most so much, in the currency of the endpoints' prices"),
  })
  .describe('what language models may cost in this process');

export type BudgetLimits = z.infer<typeof budgetSchema>;

/** What a request may cost at most, and then what it did cost. */
export interface Spending {
  readonly tokens: number;
  readonly money: number;
}

export interface Reservation {
  settle(actual: Spending): void;
}

const UNITS = ['tokens', 'money'] as const;

/**
 * Says before each request whether it may be sent. A request reserves the most it can cost, so that the limits hold
 * also while many are under way; one that finds only reservations in its way waits for them to settle.
 */
export class Budget {
  private readonly limits: BudgetLimits;
  private readonly spent = { requests: 0, tokens: 0, money: 0 };
  private readonly reserved = { tokens: 0, money: 0 };
  private underWay = 0;
  private readonly waiting = new Set<() => void>();

  constructor(limits: z.input<typeof budgetSchema> = {}) {
    this.limits = budgetSchema.parse(limits);
  }

  spending(): { readonly requests: number; readonly tokens: number; readonly money: number } {
    return { ...this.spent };
  }

  /** @throws BudgetSpentError before anything is sent; the signal's reason when it is aborted while waiting. */
  async reserve(most: Spending, signal: AbortSignal | null): Promise<Reservation> {
    for (;;) {
      signal?.throwIfAborted();
      const { requests } = this.limits;
      if (requests !== null && this.spent.requests + 1 > requests)
        throw new BudgetSpentError(`the budget of ${requests} requests is spent; ${WHAT_TO_DO}`);
      const scarce = UNITS.find((unit) => this.spent[unit] + this.reserved[unit] + most[unit] > this.limitOf(unit));
      if (scarce === undefined) return this.grant(most);
      if (this.spent[scarce] + most[scarce] > this.limitOf(scarce) || this.underWay === 0)
        throw new BudgetSpentError(this.describe(scarce, most));
      await this.nextSettlement(signal);
    }
  }

  private grant(most: Spending): Reservation {
    this.spent.requests++;
    this.underWay++;
    for (const unit of UNITS) this.reserved[unit] += most[unit];
    return {
      settle: (actual) => {
        this.underWay--;
        for (const unit of UNITS) {
          this.reserved[unit] -= most[unit];
          this.spent[unit] += actual[unit];
        }
        for (const wake of [...this.waiting]) wake();
      },
    };
  }

  private nextSettlement(signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.waiting.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  private limitOf(unit: (typeof UNITS)[number]): number {
    return this.limits[unit] ?? Number.POSITIVE_INFINITY;
  }

  private describe(unit: (typeof UNITS)[number], most: Spending): string {
    const show = (value: number) => (unit === 'tokens' ? String(Math.ceil(value)) : value.toPrecision(4));
    return (
      `the budget of ${this.limits[unit]} ${unit === 'tokens' ? 'tokens' : 'of money'} is spent: ${show(this.spent[unit])} used, ` +
      `and the next request may take ${show(most[unit])}; ${WHAT_TO_DO}`
    );
  }
}

const WHAT_TO_DO = 'what was answered is kept: run again with a larger budget to go on';
