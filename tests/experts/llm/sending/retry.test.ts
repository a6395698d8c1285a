import { describe, expect, it } from 'vitest';
import { failureOfStatus } from '../../../../experts/llm/call-failure.ts';
import { retryAfterMs } from '../../../../experts/llm/retry-after.ts';
import { retrySchema, waitMs } from '../../../../experts/llm/sending/retry.ts';
import { Random } from '../../../../src/tensor/random.ts';

const policy = retrySchema.parse({ baseMs: 100, capMs: 1000 });
const wait = (
  attempts: number,
  uniform: number,
  wish: number | null = null,
  kind: 'server' | 'rate-limit' = 'server',
) => waitMs({ failure: { retryAfterMs: wish, kind }, attempts, policy, random: { uniform: () => uniform } });

describe('waitMs', () => {
  it('is a share of a bound that doubles up to the cap', () => {
    expect([1, 2, 3, 4, 5, 9].map((attempts) => wait(attempts, 0.5))).toEqual([50, 100, 200, 400, 500, 500]);
    expect(wait(3, 0)).toBe(0);
  });

  it('is longer, and never next to nothing, after a rate limit', () => {
    expect([1, 2, 3].map((attempts) => wait(attempts, 0, null, 'rate-limit'))).toEqual([200, 400, 500]);
    expect(wait(1, 1, null, 'rate-limit')).toBe(400);
    expect(wait(1, 0, 70, 'rate-limit')).toBe(70);
  });

  it('has the wish of the server as its floor', () => {
    expect(wait(1, 0.5, 2000)).toBe(2050);
    expect(wait(1, 0, 250_000)).toBe(250_000);
  });

  it('repeats under the same seed', () => {
    const waits = () => {
      const random = Random.seeded({ seed: 3, purpose: 'jitter' });
      return [1, 2, 3].map((attempts) =>
        waitMs({ failure: { retryAfterMs: null, kind: 'server' }, attempts, policy, random }),
      );
    };
    expect(waits()).toEqual(waits());
  });
});

describe('retryAfterMs', () => {
  const date = 'Wed, 21 Oct 2015 07:28:00 GMT';
  it.each([
    [{}, null],
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after-ms': '250', 'retry-after': '3' }, 250],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:20 GMT', date }, 20_000],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:27:00 GMT', date }, 0],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:20 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '-1' }, null],
    [{ 'retry-after': '1m2.5s' }, 62_500],
    [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, 1000],
    [
      {
        'x-ratelimit-reset-requests': '8.64s',
        'x-ratelimit-remaining-requests': '12',
        'x-ratelimit-reset-tokens': '20ms',
        'x-ratelimit-remaining-tokens': '0',
      },
      20,
    ],
    [{ 'retry-after': '2', 'x-ratelimit-reset-requests': '1s' }, 2000],
    [{ 'x-ratelimit-reset': '7' }, 7000],
    [{ 'x-ratelimit-reset': '1445412490', date }, 10_000],
    [{ 'x-ratelimit-reset': '1445412490000', date }, 10_000],
    [
      { 'anthropic-ratelimit-tokens-reset': '2015-10-21T07:28:05Z', 'anthropic-ratelimit-tokens-remaining': '0', date },
      5000,
    ],
    [{ 'ratelimit-reset': '4' }, 4000],
    [{ 'x-ratelimit-limit-requests': '60', 'x-ratelimit-reset-requests': 'soon' }, null],
  ] as [Record<string, string>, number | null][])('reads %j', (headers, expected) => {
    expect(retryAfterMs({ headers: new Headers(headers) })).toBe(expected);
  });

  it.each([
    ['Rate limit reached for gpt-4o-mini on requests per min. Please try again in 1.2s.', 1200],
    ['Please try again in 6m0s. Visit the pricing page.', 360_000],
    ['Please try again in 120ms.', 120],
    ['Please retry after 20 seconds. Please go here to increase the limit.', 20_000],
    ['Quota exceeded. Please retry in 34.07s.', 34_070],
    ['You may wait 2 minutes and 3 seconds', 120_000],
    ['Please try again in 7m12.3s', 432_300],
    ['Please try again in 1d2h', 93_600_000],
    ['Try again later. You sent 20 requests', null],
    ['Please try again. The model took 30 s', null],
    ['The limit is 3s', null],
  ])('reads %j', (message, expected) => {
    expect(retryAfterMs({ headers: null, message })).toBe(expected);
    expect(retryAfterMs({ headers: new Headers({ 'retry-after': '9' }), message })).toBe(9000);
  });
});

describe('x-should-retry', () => {
  const failure = (status: number, told?: string) =>
    failureOfStatus({
      status,
      message: '',
      code: null,
      headers: new Headers(told === undefined ? {} : { 'x-should-retry': told }),
    });

  it.each([
    [500, undefined, true],
    [500, 'false', false],
    [429, 'false', false],
    [400, undefined, false],
    [400, 'true', true],
    [429, 'perhaps', true],
  ] as const)('decides about status %i where it is %j', (status, told, isRetryable) => {
    expect(failure(status, told).isRetryable).toBe(isRetryable);
  });
});
