import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CallFailure } from '../../../../experts/llm/call-failure.ts';
import type { EndpointInput } from '../../../../experts/llm/endpoint.ts';
import { ConcurrencyLimiter } from '../../../../experts/llm/sending/concurrency-limiter.ts';
import type { ScriptedReply } from '../../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from '../service.ts';

const never = new AbortController().signal;
const congestion = new CallFailure({ kind: 'rate-limit', message: 'busy' });

/** Ends a request that is under way: with an answer or with this error. */
type End = (error?: Error) => Promise<void>;

/** So many requests, once they are all under way. */
async function take(limiter: ConcurrencyLimiter, count: number): Promise<End[]> {
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<End>((begin) => {
          const ended: Promise<void> = limiter
            .run(
              () =>
                new Promise<void>((resolve, reject) => {
                  begin((error) => {
                    if (error === undefined) resolve();
                    else reject(error);
                    return ended;
                  });
                }),
              never,
            )
            .catch(() => {});
        }),
    ),
  );
}

describe('ConcurrencyLimiter', () => {
  it('grows by one for each window of successes, up to the bound', async () => {
    const limiter = new ConcurrencyLimiter(10);
    const limits: number[] = [];
    let ends = await take(limiter, 8);
    for (let round = 0; round < 120; round++) {
      await ends.shift()?.();
      ends = [...ends, ...(await take(limiter, limiter.limit - ends.length))];
      limits.push(limiter.limit);
    }
    expect(limits.indexOf(9)).toBeGreaterThanOrEqual(7);
    expect(limits.indexOf(9)).toBeLessThan(12);
    expect(limits.at(-1)).toBe(10);
  });

  it('halves once for all requests that were under way, down to one', async () => {
    const limiter = new ConcurrencyLimiter(64);
    for (const end of await take(limiter, 8)) await end(congestion);
    expect(limiter.limit).toBe(4);
    for (const expected of [2, 1, 1]) {
      for (const end of await take(limiter, limiter.limit)) await end(congestion);
      expect(limiter.limit).toBe(expected);
    }
  });

  it('does not grow on an idle endpoint or on failures that say nothing', async () => {
    const limiter = new ConcurrencyLimiter(64);
    for (let round = 0; round < 50; round++) for (const end of await take(limiter, 4)) await end();
    for (let round = 0; round < 50; round++) for (const end of await take(limiter, 8)) await end(new Error('cut off'));
    expect(limiter.limit).toBe(8);
  });

  it('begins nothing while it is paused', async () => {
    const limiter = new ConcurrencyLimiter(4);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    limiter.pause(60);
    let isBegun = false;
    const begun = take(limiter, 1).then(() => {
      isBegun = true;
    });
    await vi.advanceTimersByTimeAsync(59);
    expect(isBegun).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await begun;
  });

  it('lets an aborted request go before it is sent, and none after', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const abort = new AbortController();
    const [end] = await take(limiter, 1);
    const waiting = limiter.run(async () => 'sent', abort.signal);
    abort.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await end();
    const later = new AbortController();
    const sent = limiter.run(async () => {
      later.abort(new Error('too late'));
      return 'sent';
    }, later.signal);
    await expect(sent).resolves.toBe('sent');
  });
});

describe('adaptive concurrency', () => {
  /**
   * An endpoint that answers one request, which the others wait for. It fails the next ones once they are all under way,
   * and counts from then on how many are.
   */
  async function failing(count: number, { failure, ...input }: { failure: ScriptedReply } & Partial<EndpointInput>) {
    const server = await startServer((_body, { index }) => {
      if (index === count) Object.assign(server, { gathers: 0, maxConcurrency: 0 });
      return index > 0 && index <= count ? failure : { text: 'yes', delayMs: 20 };
    });
    const service = quickService();
    const endpoint = endpointAt(server, input);
    const askMany = (calls: number) => Promise.all(Array.from({ length: calls }, () => service.chat(ask(endpoint))));
    await askMany(1);
    server.gathers = count;
    return { server, askMany };
  }

  it('halves on 429 and grows back, never above its bound', async () => {
    const { server, askMany } = await failing(8, { failure: { status: 429 }, concurrency: 12 });
    await askMany(16);
    expect(server.maxConcurrency).toBeLessThan(8);
    await askMany(100);
    server.gathers = 12;
    await askMany(24);
    expect(server.maxConcurrency).toBe(12);
  });

  it('is shared by all that ask the same model at the same address', async () => {
    const server = await startServer(() => ({ text: 'yes', delayMs: 5 }));
    server.gathers = 3;
    const endpoints = ['one', 'two'].map((name) => endpointAt(server, { name, temperature: 0.5, concurrency: 3 }));
    const service = quickService();
    await Promise.all(Array.from({ length: 20 }, (_, index) => service.chat(ask(endpoints[index % 2]))));
    expect(server.maxConcurrency).toBe(3);
  });

  it('halves when requests time out', async () => {
    const { server, askMany } = await failing(4, { failure: { fault: 'hang' }, timeoutMs: 500, concurrency: 4 });
    await askMany(4);
    expect(server.maxConcurrency).toBeLessThan(4);
  });

  it('keeps everyone from asking while the server wants to be left alone', async () => {
    const server = await startServer((_body, { index }) =>
      index === 0 ? { status: 429, headers: { 'retry-after-ms': '30' } } : 'yes',
    );
    const endpoint = endpointAt(server, { concurrency: 1 });
    const service = quickService();
    const pause = vi.spyOn(ConcurrencyLimiter.prototype, 'pause');
    await Promise.all(Array.from({ length: 5 }, () => service.chat(ask(endpoint))));
    // The line that all share was paused once. How long nothing begins then is the limiter's affair, tested above.
    expect(pause.mock.calls).toEqual([[30]]);
    expect(server.requests).toHaveLength(6);
    pause.mockRestore();
  });
});
