import { describe, expect, it } from 'vitest';
import { simulateQueue } from '../../benchmarks/queue.ts';
import { Random } from '../../src/tensor/random.ts';

type Options = Partial<Parameters<typeof simulateQueue>[0]> & { rate?: number };

function waits({ rate = 0.5, ...options }: Options): { second: number; waited: number }[] {
  const requests: { second: number; waited: number }[] = [];
  simulateQueue({
    seconds: 200_000,
    rateAt: () => rate,
    mostRate: rate,
    serviceSeconds: () => 1,
    random: Random.seeded({ seed: 1, purpose: 'queue' }),
    onRequest: (second, waited) => requests.push({ second, waited }),
    ...options,
  });
  return requests;
}

const mean = (requests: readonly { waited: number }[]) =>
  requests.reduce((sum, { waited }) => sum + waited, 0) / requests.length;

describe('a queue', () => {
  it.each([0.5, 0.8])('with equal service times waits as M/D/1 does, at a use of %s', (use) => {
    const expected = use / (2 * (1 - use));
    const found = mean(waits({ rate: use }));
    expect(Math.abs(found / expected - 1)).toBeLessThan(0.03);
  });

  it('with two service times waits by the formula of Pollaczek and Khinchine', () => {
    // Half take 0.5 s and half 1.5 s, at 0.6 a second: 0.6 · (0.25 + 2.25) / 2 / (2 · 0.4).
    const serviceSeconds = (random: Random) => (random.uniform() < 0.5 ? 0.5 : 1.5);
    const found = mean(waits({ rate: 0.6, serviceSeconds }));
    expect(Math.abs(found / 0.9375 - 1)).toBeLessThan(0.03);
  });

  it('falls behind by what it cannot serve', () => {
    const requests = waits({ rate: 1.25, seconds: 10_000 });
    expect(Math.abs(requests[requests.length - 1].waited / 2500 - 1)).toBeLessThan(0.1);
  });

  it('gets its requests at the rate of the moment', () => {
    const rateAt = (second: number) => (second < 100_000 ? 0.1 : 0.4);
    const requests = waits({ rateAt, mostRate: 0.4 });
    const early = requests.filter(({ second }) => second < 100_000).length;
    expect(Math.abs(early - 10_000)).toBeLessThan(3 * 100);
    expect(Math.abs(requests.length - early - 40_000)).toBeLessThan(3 * 200);
  });
});
