import { InvalidArgumentError } from 'commander';
import type { BudgetLimits } from '../../experts/llm/budget.ts';

interface BudgetOptions {
  budgetRequests?: number;
  budgetTokens?: number;
  budgetMoney?: number;
}

/** The limits that were given; the others are the detector file's. */
export function budgetOf({ budgetRequests, budgetTokens, budgetMoney }: BudgetOptions): Partial<BudgetLimits> {
  return {
    ...(budgetRequests !== undefined && { requests: budgetRequests }),
    ...(budgetTokens !== undefined && { tokens: budgetTokens }),
    ...(budgetMoney !== undefined && { money: budgetMoney }),
  };
}

/** For options that take an amount above 0. */
export function amount(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}
