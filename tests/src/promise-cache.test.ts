import { describe, expect, it } from 'vitest';
import { PromiseCache } from '../../src/promise-cache.ts';

describe('PromiseCache', () => {
  it('lets all who ask at the same time share one answer, and forgets a failure', async () => {
    const cache = new PromiseCache<number>();
    let asked = 0;
    const ask = async () => {
      if (++asked === 1) throw new Error('first');
      return asked;
    };
    const both = await Promise.allSettled([cache.get('k', ask), cache.get('k', ask)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await cache.get('k', ask)).toBe(2);
    expect(await cache.get('k', ask)).toBe(2);
  });
});
