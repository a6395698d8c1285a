import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../../experts/llm/call-failure.ts';
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

  it('has the wish of the server as its floor, up to 60 s', () => {
    expect(wait(1, 0.5, 2000)).toBe(2050);
    expect(wait(1, 0, 3_600_000)).toBe(60_000);
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
  ] as [Record<string, string>, number | null][])('reads %j', (headers, expected) => {
    expect(retryAfterMs(new Headers(headers))).toBe(expected);
  });
});
