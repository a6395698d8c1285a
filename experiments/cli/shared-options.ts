import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { InputError } from '../../src/errors.ts';
import { amount, positiveInteger, positiveShare, seed, share } from './option-values.ts';
import type { Terminal } from './terminal.ts';

export interface BudgetFlags {
  budgetRequests?: number;
  budgetTokens?: number;
  budgetMoney?: number;
  maxWait?: number;
}

export const budgetOptions = {
  requests: new Option(
    '--budget-requests <count>',
    'language models: send at most so many requests, those of earlier runs with the same store included',
  ).argParser(positiveInteger),
  tokens: new Option(
    '--budget-tokens <count>',
    'language models: use at most so many tokens, counted likewise',
  ).argParser(positiveInteger),
  money: new Option(
    '--budget-money <amount>',
    "language models: spend at most so much, in the prices' currency, counted likewise",
  ).argParser(amount),
};

/** How long a run waits for a limit of an endpoint. */
export const maxWaitOption = new Option(
  '--max-wait <seconds>',
  'language models: longest wait that an endpoint may demand; a longer one, such as for a daily quota, ends the run (default: that of the file, or 300)',
).argParser(amount);

export function maxWaitMsOf({ maxWait }: Pick<BudgetFlags, 'maxWait'>): number | null {
  return maxWait === undefined ? null : 1000 * maxWait;
}

export const unreadableOptions = {
  retry: new Option('--retry-unreadable', 'language models: ask again where an earlier answer could not be read'),
  most: new Option(
    '--max-unreadable <share>',
    'language models: stop when more than this share of at least 20 answers cannot be read (default: 0.5)',
  ).argParser(share),
};

/** Limits of language models. Where none is asked, ignoring them silently would suggest that a budget is in force. */
export const ofBudget = ['budgetRequests', 'budgetTokens', 'budgetMoney', 'maxWait'] as const;

/** Options of language models, which a local detector would ignore. */
export const ofModels = [...ofBudget, 'retryUnreadable', 'maxUnreadable'] as const;

/** Limits from the options; the detector file sets the others. */
export function budgetOf({ budgetRequests, budgetTokens, budgetMoney }: BudgetFlags): Partial<BudgetLimits> {
  return {
    ...(budgetRequests !== undefined && { requests: budgetRequests }),
    ...(budgetTokens !== undefined && { tokens: budgetTokens }),
    ...(budgetMoney !== undefined && { money: budgetMoney }),
  };
}

export const auditOptions = {
  share: new Option(
    '--audit <share>',
    'share of threads, drawn at random, that are read on to their end, so that `earshot monitor` can check the guarantee; such as 10%',
  ).argParser(positiveShare),
  file: new Option('--audits <file>', 'where audits are appended').default('audits.jsonl'),
  seed: new Option('--audit-seed <number>', 'another seed draws other threads').default(1).argParser(seed),
  queries: new Option('--audit-queries <count>', 'no further thread is drawn once audits took so many queries')
    .default(Number.POSITIVE_INFINITY, 'no limit')
    .argParser(positiveInteger),
};

/** The command of a further process, which answers the lines of its standard input. */
export const answerLinesOption = new Option('--answer-lines').hideHelp();

/** The words of such a process. */
export function answeringWords({ words }: Pick<Terminal, 'words'>): string[] {
  return [...words, answerLinesOption.long ?? ''];
}

/** @throws InputError if a command would write over a file that it reads */
export function refuseInputAsOutput({ out, inputs }: { out: string; inputs: readonly string[] }): void {
  if (inputs.some((input) => resolve(input) === resolve(out)))
    throw new InputError(`${out} would be written over, and is read for it; write to another file`);
}

/** @throws InputError if a file would be written over */
export function refuseExisting({ out, force }: { out: string; force: boolean }): void {
  if (existsSync(out) && !force)
    throw new InputError(`${out} exists already; give another --out, or --force to write over it`);
}
