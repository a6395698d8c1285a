import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RateLimiter, rateLimiter } from '../../../../experts/llm/sending/rate-limiter.ts';
import type { ScriptedReply } from '../../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from '../service.ts';

const unlimited = { requestsPerMinute: null, tokensPerMinute: null, stepMs: 100, capMs: 30_000 };

/** When each of so many requests is admitted, in milliseconds of the pretended clock. */
async function admissions(limiter: RateLimiter, tokens: readonly number[]): Promise<number[]> {
  const start = performance.now();
  const times: number[] = [];
  const all = tokens.map((each) =>
    limiter.admit({ tokens: each, signal: null }).then(() => times.push(Math.round(performance.now() - start))),
  );
  await vi.runAllTimersAsync();
  await Promise.all(all);
  return times;
}

describe('rateLimiter', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('spaces requests evenly', async () => {
    expect(await admissions(rateLimiter({ ...unlimited, requestsPerMinute: 60 }), [1, 1, 1])).toEqual([0, 1000, 2000]);
    expect(await admissions(rateLimiter(unlimited), [1, 1, 1])).toEqual([0, 0, 0]);
  });

  it('counts tokens, and gives back what was not used', async () => {
    const limiter = rateLimiter({ ...unlimited, tokensPerMinute: 6000, requestsPerMinute: 600 });
    expect(await admissions(limiter, [100, 200, 1])).toEqual([0, 1000, 3000]);
    const other = rateLimiter({ ...unlimited, tokensPerMinute: 6000 });
    await other.admit({ tokens: 100, signal: null });
    other.giveBack(50);
    expect(await admissions(other, [1])).toEqual([500]);
  });

  it('goes slower after each refusal, and faster after answers', async () => {
    const limiter = rateLimiter(unlimited);
    limiter.refused();
    limiter.refused();
    expect(await admissions(limiter, [1, 1])).toEqual([100, 200]);
    limiter.refused();
    expect(await admissions(limiter, [1, 1, 1])).toEqual([200, 400, 600]);
    for (let answer = 0; answer < 60; answer++) limiter.answered();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await admissions(limiter, [1, 1])).toEqual([0, 0]);
  });

  it('stops waiting when aborted', async () => {
    const limiter = rateLimiter({ ...unlimited, requestsPerMinute: 1 });
    await limiter.admit({ tokens: 1, signal: null });
    const abort = new AbortController();
    const waiting = limiter.admit({ tokens: 1, signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

it('an endpoint that takes a few requests at a time and names no wait is asked more slowly, and answers all', async () => {
  let acceptedAt = Number.NEGATIVE_INFINITY;
  const server = await startServer((): ScriptedReply => {
    const now = performance.now();
    if (now - acceptedAt < 10) return { status: 429 };
    acceptedAt = now;
    return { text: 'yes' };
  });
  const service = quickService({ retry: { baseMs: 10, capMs: 600 } });
  const calls = Array.from({ length: 60 }, () => service.chat(ask(endpointAt(server))));
  const settled = await Promise.allSettled(calls);
  expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
});
