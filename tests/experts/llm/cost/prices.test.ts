import { afterEach, describe, expect, it, vi } from 'vitest';
import { priceList, pricesOf } from '../../../../experts/llm/cost/prices.ts';
import { temporaryFolder } from '../../../src/data/fixtures.ts';

afterEach(() => vi.unstubAllEnvs());

const models = { 'gpt-4o-mini': { inputPerMillion: 7 }, 'own/model-2024-07-18': { outputPerMillion: 3 } };

function listed(list: unknown): string {
  const path = `${temporaryFolder({ 'prices.yaml': list as object })}/prices.yaml`;
  vi.stubEnv('EARSHOT_PRICES', path);
  return path;
}

describe('the price list', () => {
  it('is the shipped one, with its date', () => {
    expect(priceList().name).toMatch(/^the shipped price list of \d{4}-\d\d$/);
    expect(pricesOf({ model: 'openai/gpt-4o-mini-2024-07-18', prices: null })).toMatchObject({ inputPerMillion: 0.15 });
    expect(pricesOf({ model: 'toString', prices: null })).toBe(null);
  });

  it('is replaced by the file that EARSHOT_PRICES names', () => {
    const path = listed({ date: '2026-11-02', models });
    expect(priceList().name).toBe(`the price list ${path} of 2026-11-02`);
    expect(pricesOf({ model: 'gpt-4o-mini', prices: null })).toMatchObject({ inputPerMillion: 7, outputPerMillion: 0 });
    expect(pricesOf({ model: 'own/model-2024-07-18', prices: null })).toMatchObject({ outputPerMillion: 3 });
    expect(pricesOf({ model: 'gpt-5', prices: null })).toBe(null);
    const own = { inputPerMillion: 1, cachedInputPerMillion: null, outputPerMillion: 1, batchShare: 1 };
    expect(pricesOf({ model: 'gpt-4o-mini', prices: own })).toBe(own);
  });

  it.each([
    [{ models }, /is not a price list: .*date/],
    [{ date: 'lately', models }, /must be the day or month/],
    [{ date: '2026-11', models: { m: { input: 3 } } }, /Unrecognized key/],
  ])('is refused where it is not one: %j', (list, problem) => {
    const path = listed(list);
    expect(() => priceList()).toThrow(problem);
    expect(() => priceList()).toThrow(`${path} (EARSHOT_PRICES)`);
  });

  it('is refused where it is not there', () => {
    vi.stubEnv('EARSHOT_PRICES', '/nowhere/prices.yaml');
    expect(() => priceList()).toThrow(/cannot read the price list \/nowhere\/prices.yaml/);
  });
});
