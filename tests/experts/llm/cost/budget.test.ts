import { describe, expect, it } from 'vitest';
import { Budget } from '../../../../experts/llm/cost/budget.ts';
import {
  type CountedSpending,
  type Ledger,
  ledgerInMemory,
  nothingSpent,
} from '../../../../experts/llm/cost/ledger.ts';
import { BudgetSpentError } from '../../../../experts/llm/failures.ts';
import { InputError, ProviderError } from '../../../../src/errors.ts';
import { ask, endpointAt, quickService, startServer, stopServer } from '../service.ts';

function tally(outcomes: readonly PromiseSettledResult<unknown>[]) {
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  return { answered: outcomes.length - errors.length, errors };
}

describe('a budget of requests', () => {
  it('sends at most so many, however many ask at once, and keeps their answers', async () => {
    const server = await startServer(() => ({ text: 'yes', delayMs: 3 }));
    const service = quickService({ budget: { requests: 25 } });
    const endpoint = endpointAt(server);
    const { answered, errors } = tally(
      await Promise.allSettled(Array.from({ length: 80 }, () => service.chat(ask(endpoint)))),
    );
    expect(server.requests).toHaveLength(25);
    expect(answered).toBe(25);
    expect(errors.every((error) => error instanceof BudgetSpentError && error instanceof ProviderError)).toBe(true);
    expect(errors[0].message).toMatch(/budget of 25 requests is spent; run again with a larger budget/);
  });

  it('counts retries', async () => {
    const server = await startServer((_body, { index }) => (index % 2 === 0 ? { status: 500 } : 'yes'));
    const service = quickService({ budget: { requests: 11 } });
    const endpoint = endpointAt(server);
    const { answered } = tally(await Promise.allSettled(Array.from({ length: 40 }, () => service.chat(ask(endpoint)))));
    expect(server.requests).toHaveLength(11);
    expect(answered).toBe(5);
  });

  it('of none sends none', async () => {
    const server = await startServer();
    await expect(quickService({ budget: { requests: 0 } }).chat(ask(endpointAt(server)))).rejects.toThrow(
      BudgetSpentError,
    );
    expect(server.requests).toHaveLength(0);
  });
});

describe('a budget of tokens or money', () => {
  it('is never exceeded, and calls wait for others to settle rather than give up', async () => {
    const server = await startServer(() => ({ text: 'yes', usage: { input: 10, output: 10 }, delayMs: 2 }));
    // A request reserves about 108 tokens and takes 20, so at most 4 fit side by side into 500.
    const endpoint = endpointAt(server, { maxTokens: 100 });
    const service = quickService({ budget: { tokens: 500 } });
    const { answered, errors } = tally(
      await Promise.allSettled(Array.from({ length: 60 }, () => service.chat(ask(endpoint)))),
    );
    expect(answered).toBe(20);
    expect(server.maxConcurrency).toBeLessThanOrEqual(4);
    expect(errors[0].message).toMatch(/budget of 500 tokens is spent: 400 used, and the next request may cost 10\d/);
  });

  it('stops at the money', async () => {
    const server = await startServer(() => ({ text: 'yes', usage: { input: 1000, output: 1 } }));
    const prices = { inputPerMillion: 1000, outputPerMillion: 0 };
    const endpoint = endpointAt(server, { prices });
    const service = quickService({ budget: { money: 3 } });
    for (let call = 0; call < 3; call++) await service.chat(ask(endpoint));
    await expect(service.chat(ask(endpoint))).rejects.toThrow(/budget of 3 of money is spent: 3.000 used/);
  });

  it('of money wants prices: its own, or those of the shipped list', async () => {
    const server = await startServer(() => ({ text: 'yes', usage: { input: 1_000_000, output: 1 } }));
    const service = quickService({ budget: { money: 3 } });
    const unpriced = service.chat(ask(endpointAt(server)));
    await expect(unpriced).rejects.toThrow(InputError);
    await expect(unpriced).rejects.toThrow(
      /allows 3 of money, but what the model tiny at endpoint scripted costs is not known to the shipped price list of .*: give the endpoint prices/,
    );
    expect(server.requests).toHaveLength(0);
    await service.chat(ask(endpointAt(server, { prices: {} })));
    await service.chat(ask(endpointAt(server, { name: 'listed', model: 'openai/gpt-4o-mini-2024-07-18' })));
    const own = { inputPerMillion: 1, outputPerMillion: 1 };
    await service.chat(ask(endpointAt(server, { name: 'own', model: 'gpt-4o-mini', prices: own })));
    expect(service.usage().map(({ cost }) => Number(cost.toFixed(4)))).toEqual([0, 0.15, 1]);
  });

  it('gives back what a refused request reserved', async () => {
    const budget = new Budget({ tokens: 10 });
    (await budget.reserve({ model: 'm', most: { tokens: 10, money: 0 } })).settle('nothing');
    (await budget.reserve({ model: 'm', most: { tokens: 10, money: 0 } })).settle({ tokens: 4, money: 0 });
    await expect(budget.reserve({ model: 'm', most: { tokens: 7, money: 0 } })).rejects.toThrow(/: 4 used/);
  });

  it('stops waiting when aborted', async () => {
    const budget = new Budget({ tokens: 10 });
    await budget.reserve({ model: 'm', most: { tokens: 10, money: 0 } });
    const abort = new AbortController();
    const waiting = budget.reserve({ model: 'm', most: { tokens: 5, money: 0 } }, abort.signal);
    abort.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
  });

  it('holds where answers are far longer than estimated, from the first one on', async () => {
    const server = await startServer(() => ({ text: 'yes', usage: { input: 20, output: 780 }, delayMs: 2 }));
    const endpoint = endpointAt(server, { maxTokens: 30 });
    const service = quickService({ budget: { tokens: 10_000 } });
    const { answered, errors } = tally(
      await Promise.allSettled(Array.from({ length: 60 }, () => service.chat(ask(endpoint)))),
    );
    expect(answered).toBe(12);
    expect(errors[0].message).toMatch(/: 9600 used, and the next request may cost 800;/);
  });

  it.each([
    ['counts no tokens', null],
    ['counts none of them', { input: 0, output: 0 }],
  ])('is not endless where the endpoint %s', async (_, usage) => {
    const server = await startServer(() => ({ text: 'yes '.repeat(40), usage }));
    const service = quickService({ budget: { tokens: 500 } });
    const endpoint = endpointAt(server, { maxTokens: 60 });
    const { answered } = tally(await Promise.allSettled(Array.from({ length: 40 }, () => service.chat(ask(endpoint)))));
    expect(answered).toBeGreaterThan(3);
    expect(answered).toBeLessThan(13);
    expect(service.usage()[0].estimatedAnswers).toBe(answered);
  });

  it.each([
    ['that are not chat completions', { body: '{"answer": "yes"}' }],
    ['that break off', { fault: 'cut-in-body' }],
    ['that never come', { fault: 'hang' }],
  ] as const)('counts answers %s', async (_, reply) => {
    const server = await startServer(() => reply);
    const ledger = ledgerInMemory();
    const service = quickService({ budget: { tokens: 100_000 }, ledger, retry: { maxAttempts: 2 } });
    await expect(service.chat(ask(endpointAt(server, { timeoutMs: 60 })))).rejects.toThrow(ProviderError);
    const { requests, tokens } = spentIn(ledger);
    expect(requests).toBe(2);
    expect(tokens).toBeGreaterThan(10);
  });

  it('counts no tokens of what was refused or never arrived', async () => {
    const server = await startServer(() => ({ status: 500 }));
    const ledger = ledgerInMemory();
    const service = quickService({ ledger, retry: { maxAttempts: 2 } });
    await expect(service.chat(ask(endpointAt(server)))).rejects.toThrow(ProviderError);
    const endpoint = endpointAt(server);
    await stopServer(server);
    await expect(service.chat(ask(endpoint))).rejects.toThrow(ProviderError);
    expect(spentIn(ledger)).toEqual({ requests: 4, tokens: 0, money: 0 });
  });
});

function spentIn(ledger: Ledger): CountedSpending {
  const read: CountedSpending[] = [];
  ledger.transact(({ spent }) => {
    read.push(spent);
    return { spent: nothingSpent, reserved: new Map(), ratios: new Map() };
  });
  return read[0];
}
