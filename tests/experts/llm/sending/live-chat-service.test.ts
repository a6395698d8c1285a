import { describe, expect, it, vi } from 'vitest';
import { usageOf } from '../../../../experts/llm/chat.ts';
import { usageSummary } from '../../../../experts/llm/cost/usage.ts';
import { endpointSchema } from '../../../../experts/llm/endpoint.ts';
import { ContextLengthError, QuotaSpentError } from '../../../../experts/llm/failures.ts';
import { ConcurrencyLimiter } from '../../../../experts/llm/sending/concurrency-limiter.ts';
import { ProviderError } from '../../../../src/errors.ts';
import { inTurn, lastMessage, type ScriptedReply } from '../../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from '../service.ts';

describe('LiveChatService', () => {
  it('sends the parameters of the endpoint and returns text, usage and latency', async () => {
    const server = await startServer(() => ({ text: 'no', usage: { input: 20, output: 3, cached: 5 }, delayMs: 20 }));
    const endpoint = endpointAt(server, { seed: 7, topP: 0.9, maxTokens: 12, extraBody: { top_k: 1 } });
    const answer = await quickService().chat(ask(endpoint, { temperature: 0.2, sampleIndex: 2 }));
    expect(answer).toMatchObject({ text: 'no', logprobs: null, finishReason: 'stop' });
    expect(answer.usage).toEqual({ requests: 1, inputTokens: 20, cachedInputTokens: 5, outputTokens: 3 });
    expect(answer.latencyMs).toBeGreaterThan(15);
    expect(server.requests[0].body).toEqual({
      model: 'tiny',
      messages: [{ role: 'user', content: 'Is it true?' }],
      temperature: 0.2,
      top_p: 0.9,
      seed: 9,
      max_tokens: 12,
      top_k: 1,
    });
  });

  it('leaves out what is null and names the length as reasoning models want it', async () => {
    const server = await startServer();
    const endpoint = endpointAt(server, { temperature: null, maxTokensField: 'max_completion_tokens' });
    await quickService().chat(ask(endpoint));
    await quickService().chat(ask(endpoint, { maxTokens: null }));
    expect(server.requests.map(({ body }) => Object.keys(body))).toEqual([
      ['model', 'messages', 'max_completion_tokens'],
      ['model', 'messages'],
    ]);
  });

  const passing: [string, ScriptedReply][] = [
    ['408', { status: 408 }],
    ['409', { status: 409 }],
    ['429', { status: 429 }],
    ['500', { status: 500 }],
    ['503', { status: 503 }],
    ['a cut connection', { fault: 'cut' }],
    ['a connection cut in the body', { fault: 'cut-in-body' }],
    ['a hang', { fault: 'hang' }],
    ['a trickle', { text: 'yes', trickleMs: 20 }],
    ['a body that is no JSON', { body: '<html>busy</html>' }],
    ['an empty body', { body: '' }],
    ['empty choices', { fault: 'empty-choices' }],
    ['an empty text', { text: ' ' }],
    ['no text', { text: null }],
    ['a rate limit told with status 200', { body: '{"error": {"message": "slow down", "code": 429}}' }],
  ];
  it.each(passing)('tries again after %s', async (name, failure) => {
    // Long enough for a busy machine, but for what has to run into it, which happens once only.
    const isSlow = ['a hang', 'a trickle'].includes(name);
    const timeoutMs = isSlow ? 1500 : 30_000;
    const server = await startServer(inTurn([failure, isSlow ? { status: 500 } : failure, 'yes']));
    const answer = await quickService().chat(ask(endpointAt(server, { timeoutMs })));
    expect(answer.text).toBe('yes');
    expect(answer.usage.requests).toBe(3);
    expect(server.requests).toHaveLength(3);
  });

  it('gives up after so many attempts and says where, what and how often', async () => {
    const server = await startServer(() => ({ status: 500, message: 'the model crashed' }));
    const failed = quickService({ retry: { maxAttempts: 3 } }).chat(ask(endpointAt(server)));
    await expect(failed).rejects.toThrow(ProviderError);
    await expect(failed).rejects.toThrow(
      `endpoint scripted (${server.baseURL}, model tiny) failed with status 500 after 3 attempts: 500 the model crashed; run again later`,
    );
    expect(server.requests).toHaveLength(3);
  });

  it.each([
    '{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 12}}',
    '{"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}',
    '{"choices": null, "object": "chat.completion"}',
    '{"choices": []}',
  ])('asks little more where a whole body is no completion, and quotes it: %s', async (body) => {
    const server = await startServer(() => ({ body }));
    const failed = quickService().chat(ask(endpointAt(server)));
    await expect(failed).rejects.toThrow(
      /^endpoint scripted .* gave no completion after 3 attempts: .*; if that tells of a text that it does not take, /,
    );
    await expect(failed).rejects.toThrow(JSON.stringify(JSON.parse(body)));
    expect(server.requests).toHaveLength(3);
  });

  const lasting: [ScriptedReply, RegExp][] = [
    [{ status: 400, message: 'top_p must be 1' }, /refused the request with status 400.*top_p must be 1/],
    [
      { status: 400, message: 'temperature must be between 0 and 1' },
      /refused the request with status 400.*temperature/,
    ],
    [{ status: 401 }, /endpoint scripted wants a key.*name that variable in apiKeyEnv/],
    [{ status: 402, message: 'pay' }, /no quota or credit/],
    [{ status: 403, message: 'not in your country' }, /forbids this request with status 403.*not in your country/],
    [{ status: 404, message: 'model not found' }, /knows no model "tiny".*check model and baseURL/],
    [{ status: 407 }, /a proxy wants a user name and a password \(status 407\); write them into its address/],
    [{ status: 429, code: 'insufficient_quota', message: 'quota' }, /no quota or credit left.*waiting does not help/],
    [{ text: '', finishReason: 'length' }, /cut off before it began.*raise maxTokens/],
    [{ text: null, finishReason: 'content_filter' }, /content filter/],
  ];
  it.each(lasting)('does not try again after %j', async (reply, message) => {
    const server = await startServer(() => reply);
    await expect(quickService().chat(ask(endpointAt(server)))).rejects.toThrow(message);
    expect(server.requests).toHaveLength(1);
  });

  it('returns a refusal as the answer it is', async () => {
    const server = await startServer(() => ({ text: null, refusal: 'I cannot judge that.' }));
    const answer = await quickService().chat(ask(endpointAt(server)));
    expect(answer).toMatchObject({ text: 'I cannot judge that.', finishReason: 'refusal' });
  });

  it.each([
    [
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (3976 in the messages, 1024 in the completion).",
      4096,
      5000,
    ],
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9,001 tokens.",
      8192,
      9001,
    ],
    ['the request exceeds the available context size (4096 tokens), try increasing it', 4096, null],
    ['request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it', 4096, 5000],
    ['The decoder prompt (length 5000) is longer than the maximum model length of 4096.', 4096, 5000],
    ['prompt is too long: 210000 tokens > 200000 maximum', 200_000, 210_000],
    ['Input is too long for requested model.', 2048, null],
  ])('reads the numbers of a context that is too long: %s', async (message, contextTokens, requestedTokens) => {
    const server = await startServer(() => ({ status: 400, message }));
    const error = await quickService()
      .chat(ask(endpointAt(server, { contextLength: 2048 })))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ContextLengthError);
    expect(error).toMatchObject({ contextTokens, requestedTokens });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    '{"object": "error", "message": "no such thing"}',
    '{"detail": "no such thing"}',
    '{"error": "no such thing"}',
  ])('finds the message in %s', async (rawBody) => {
    const server = await startServer(() => ({ status: 400, rawBody }));
    await expect(quickService().chat(ask(endpointAt(server)))).rejects.toThrow(/status 400: 400 no such thing;/);
  });

  it('quotes an error of another form whole', async () => {
    const server = await startServer(() => ({ status: 400, rawBody: '{"error": {"reason": "no such thing"}}' }));
    await expect(quickService().chat(ask(endpointAt(server)))).rejects.toThrow(/400 .*"reason": "no such thing"/);
  });

  it('asks again where an answer did not fit the schema', async () => {
    const unfit = {
      status: 400,
      message: "Failed to generate JSON. See 'failed_generation'.",
      code: 'json_validate_failed',
    };
    const server = await startServer(inTurn([unfit, 'yes']));
    const jsonSchema = { name: 'verdict', schema: { type: 'object' } };
    await quickService().chat(ask(endpointAt(server), { jsonSchema }));
    expect(server.requests.map(({ body }) => 'response_format' in body)).toEqual([true, true]);
  });

  it('says that nothing listens', async () => {
    const endpoint = endpointSchema.parse({ name: 'off', baseURL: 'http://127.0.0.1:9/v1', model: 'm' });
    const failed = quickService({ retry: { maxAttempts: 2 } }).chat(ask(endpoint));
    await expect(failed).rejects.toThrow(
      /endpoint off .* could not be reached after 2 attempts: .*; check that it runs/,
    );
  });

  it('waits as long as the server asks, in seconds or milliseconds or until a date', async () => {
    const pause = vi.spyOn(ConcurrencyLimiter.prototype, 'pause');
    const date = new Date(Date.UTC(2020, 1, 1, 12, 0, 0)).toUTCString();
    const until = new Date(Date.UTC(2020, 1, 1, 12, 0, 1)).toUTCString();
    const waits: Record<string, string>[] = [
      { 'retry-after': '0.02' },
      { 'retry-after-ms': '20' },
      { date, 'retry-after': until },
    ];
    for (const headers of waits) {
      const server = await startServer(inTurn([{ status: 429, headers }, 'yes']));
      await quickService().chat(ask(endpointAt(server)));
    }
    expect(pause.mock.calls).toEqual([[20], [20], [1000]]);
    pause.mockRestore();
  });

  it('ends at once where the server asks for a longer wait than it is granted, and says when it is over', async () => {
    vi.setSystemTime('2026-11-26T14:30:10Z');
    const headers = { 'retry-after': '3600' };
    const server = await startServer(() => ({ status: 429, message: 'limit of the day', headers }));
    const failed = quickService().chat(ask(endpointAt(server)));
    await expect(failed).rejects.toThrow(QuotaSpentError);
    await expect(failed).rejects.toThrow(
      /takes no request for another 3600 s, until 2026-11-26 15:30 UTC; a run waits 300 s at most \(--max-wait, or retry\.maxWaitMs\) .*limit of the day/,
    );
    expect(server.requests).toHaveLength(1);
    vi.useRealTimers();
  });

  it('ends at once where the limit of a day is named and no wait, but asks again after the wait that one names', async () => {
    const message = 'Rate limit reached on requests per day (RPD): Limit 200, Used 200';
    const server = await startServer(inTurn([{ status: 429, message }]));
    await expect(quickService().chat(ask(endpointAt(server)))).rejects.toThrow(
      /has used up a quota of an hour or longer, and it is not known when that is back .*RPD/,
    );
    expect(server.requests).toHaveLength(1);
    const hopeful = await startServer(
      inTurn([{ status: 429, message: `${message}. Please try again in 2ms.` }, 'yes']),
    );
    expect(await quickService().chat(ask(endpointAt(hopeful)))).toMatchObject({ text: 'yes' });
    hopeful.rule = () => ({ status: 429, message: `${message}. Please try again in 2ms.` });
    const refused = quickService({ retry: { maxAttempts: 3 } }).chat(ask(endpointAt(hopeful)));
    await expect(refused).rejects.toThrow(QuotaSpentError);
    expect(hopeful.requests).toHaveLength(5);
  });

  it('ends where the waits that it is asked for add up to more than is granted, unless others are answered', async () => {
    const slow = { status: 429, headers: { 'retry-after': '0.004' } };
    const server = await startServer(() => slow);
    const refused = quickService({ retry: { maxWaitMs: 10 } }).chat(ask(endpointAt(server)));
    await expect(refused).rejects.toThrow(/takes no request for another 1 s after 0 s of waiting, until /);
    expect(server.requests).toHaveLength(3);
    const unlucky = await startServer((body) => (lastMessage(body) === 'unlucky' ? slow : 'yes'));
    const service = quickService({ retry: { maxWaitMs: 10 } });
    const others = (async () => {
      for (let asked = 0; asked < 40; asked++) await service.chat(ask(endpointAt(unlucky), `other ${asked}`));
    })();
    const failed = service.chat(ask(endpointAt(unlucky), 'unlucky'));
    await expect(failed).rejects.not.toThrow(QuotaSpentError);
    await others;
  });

  it('ends with one quota all that waits for the endpoint, and asks later calls anew', async () => {
    const server = await startServer((body) =>
      lastMessage(body) === 'first'
        ? { status: 429, headers: { 'retry-after': '3600' }, delayMs: 100 }
        : { status: 429, headers: { 'retry-after': '200' } },
    );
    const service = quickService();
    const endpoint = endpointAt(server);
    const calls = ['first', ...new Array(20).fill('other')].map((text) => service.chat(ask(endpoint, text)));
    for (const { reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
      expect(reason).toBeInstanceOf(QuotaSpentError);
    server.rule = () => 'yes';
    expect(await quickService().chat(ask(endpoint))).toMatchObject({ text: 'yes' });
  });

  it('tells what is waited for once nothing was answered for 5 s', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const headers = { 'retry-after': '60' };
    const server = await startServer(inTurn([{ status: 429, headers }, 'yes']));
    const abort = new AbortController();
    const service = quickService({ signal: abort.signal });
    const asked = service.chat(ask(endpointAt(server)));
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    expect(service.waits.inWords()).toBeNull();
    // The answer may still be on its way.
    await vi.waitFor(() => {
      vi.advanceTimersByTime(12_000);
      expect(service.waits.inWords()).toMatch(
        /^waiting \d+ s for endpoint scripted \(status 429, asks to wait 60 s\)$/,
      );
    });
    abort.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    vi.advanceTimersByTime(60_000);
    expect(service.waits.inWords()).toBeNull();
    vi.useRealTimers();
  });

  it('gives log-probabilities with their alternatives', async () => {
    const server = await startServer(() => ({ text: 'Yes', tokens: [{ Yes: 0.75, No: 0.25 }] }));
    const answer = await quickService().chat(ask(endpointAt(server, { topLogprobs: 5 }), { wantLogprobs: true }));
    expect(server.requests[0].body).toMatchObject({ logprobs: true, top_logprobs: 5 });
    expect(answer.logprobs).toHaveLength(1);
    expect(answer.logprobs?.[0].top.map(({ token }) => token)).toEqual(['Yes', 'No']);
    expect(Math.exp(answer.logprobs?.[0].logprob ?? 0)).toBeCloseTo(0.75, 12);
  });

  it('does without log-probabilities where they are refused, and remembers it', async () => {
    const server = await startServer((body) =>
      body.logprobs ? { status: 400, message: 'unknown field: logprobs' } : 'yes',
    );
    const service = quickService();
    const endpoint = endpointAt(server);
    expect((await service.chat(ask(endpoint, { wantLogprobs: true }))).logprobs).toBeNull();
    await service.chat(ask(endpoint, { wantLogprobs: true }));
    expect(server.requests.map(({ body }) => 'logprobs' in body)).toEqual([true, false, false]);
    const insisting = endpointAt(server, { logprobs: 'on' });
    await expect(quickService().chat(ask(insisting, { wantLogprobs: true }))).rejects.toThrow(
      /unknown field: logprobs/,
    );
    await quickService().chat(ask(endpointAt(server, { logprobs: 'off' }), { wantLogprobs: true }));
    expect(server.requests.at(-1)?.body).not.toHaveProperty('logprobs');
  });

  it('fails when log-probabilities are on and do not come', async () => {
    const server = await startServer();
    const failed = quickService().chat(ask(endpointAt(server, { logprobs: 'on' }), { wantLogprobs: true }));
    await expect(failed).rejects.toThrow(/sends no log-probabilities, although logprobs is on/);
  });

  it('counts what the endpoint says that a request cost, where it has no prices of its own', async () => {
    const body = JSON.stringify({
      choices: [{ message: { content: 'yes' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1000, completion_tokens: 100, cost: 0.25 },
    });
    const server = await startServer(() => ({ body }));
    const service = quickService({ budget: { money: 0.6 } });
    const listed = endpointAt(server, { name: 'listed', model: 'gpt-4o-mini' });
    for (let asked = 0; asked < 2; asked++) await service.chat(ask(listed));
    await expect(service.chat(ask(listed))).rejects.toThrow(/the budget of 0\.6 of money is spent: 0\.5000 used/);
    const own = endpointAt(server, { name: 'own', prices: { inputPerMillion: 1 } });
    await service.chat(ask(own));
    expect(service.usage().map(({ cost }) => cost)).toEqual([0.5, 0.001]);
  });

  it('sums usage and cost for each endpoint', async () => {
    const server = await startServer((body) =>
      lastMessage(body) === 'silent'
        ? { text: 'yes', usage: null }
        : { text: 'yes', usage: { input: 1000, output: 100, cached: 400 } },
    );
    const prices = { inputPerMillion: 10, cachedInputPerMillion: 1, outputPerMillion: 20 };
    const dear = endpointAt(server, { name: 'dear', prices });
    const free = endpointAt(server, { name: 'free' });
    const service = quickService();
    const answers = await Promise.all([
      service.chat(ask(dear)),
      service.chat(ask(dear)),
      service.chat(ask(free, 'silent')),
    ]);
    const rows = service.usage();
    expect(rows[0]).toMatchObject({ endpoint: 'dear', requests: 2, answers: 2, inputTokens: 2000, outputTokens: 200 });
    expect(rows[0].cost).toBeCloseTo(2 * (600 * 10 + 400 * 1 + 100 * 20) * 1e-6, 12);
    expect(rows[1]).toMatchObject({ endpoint: 'free', estimatedAnswers: 1, cost: 0 });
    expect(usageSummary(rows)).toContain('dear (tiny): 2 answers in 2 requests, 2000 (800 cached) tokens in, 200 out');
    expect(usageOf(answers.slice(0, 2))).toEqual({
      cost: expect.closeTo(rows[0].cost),
      requests: 2,
      inputTokens: 2000,
      outputTokens: 200,
    });
  });
});

describe('aborting', () => {
  it('ends at once what waits, and returns what is answered within the grace', async () => {
    const server = await startServer(() => ({ text: 'yes', delayMs: 200 }));
    const endpoint = endpointAt(server, { concurrency: 2 });
    const abort = new AbortController();
    const service = quickService({ signal: abort.signal });
    // The first call to an endpoint goes alone.
    await service.chat(ask(endpoint));
    const calls = Array.from({ length: 30 }, () => service.chat(ask(endpoint)));
    const settled = Promise.allSettled(calls);
    setTimeout(() => abort.abort(new Error('Ctrl-C')), 100);
    const outcomes = await settled;
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled'],
      ...new Array(28).fill('rejected'),
    ]);
    await expect(calls[29]).rejects.toThrow('Ctrl-C');
    await expect(service.chat(ask(endpoint))).rejects.toThrow('Ctrl-C');
    expect(server.requests).toHaveLength(3);
  });

  it('cuts off after the grace, and wakes from waiting to try again', async () => {
    const server = await startServer((body) =>
      lastMessage(body) === 'hang' ? { fault: 'hang' } : { status: 429, headers: { 'retry-after': '3600' } },
    );
    const abort = new AbortController();
    const service = quickService({ graceMs: 50 });
    const endpoint = endpointAt(server);
    const { signal } = abort;
    const request = { signal, messages: [{ role: 'user', content: 'hang' }] } as const;
    const calls = [service.chat(ask(endpoint, request)), service.chat(ask(endpoint, { signal }))];
    setTimeout(() => abort.abort(new Error('enough')), 100);
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: 'rejected', reason: new Error('enough') });
  });
});
