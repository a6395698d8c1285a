import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { usageSummary } from '../../../experts/llm/cost/usage.ts';
import { answerRelevantOptions, endpointSchema } from '../../../experts/llm/endpoint.ts';
import { InputError } from '../../../src/errors.ts';
import { startProxy } from '../../llm-server/proxy.ts';
import type { ScriptedReply } from '../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from './service.ts';

const base = { name: 'local', baseURL: 'http://localhost:8000/v1/', model: 'tiny' };

describe('endpointSchema', () => {
  it('fills in defaults and takes the slash off the address', () => {
    const endpoint = endpointSchema.parse(base);
    expect(endpoint).toMatchObject({ baseURL: 'http://localhost:8000/v1', apiKeyEnv: null, temperature: 0 });
    expect(endpoint.concurrency).toBe(64);
    expect(endpoint.prices).toBeNull();
    expect(endpointSchema.parse({ ...base, prices: {} }).prices).toEqual({
      inputPerMillion: 0,
      cachedInputPerMillion: null,
      batchShare: 0.5,
      outputPerMillion: 0,
    });
  });

  it.each([
    [{ apiKeyEnv: 'sk-123-abc' }, /name of an environment variable, not the key/],
    [{ baseURL: 'http://me:secret@localhost/v1' }, /no user name, password, query .* or fragment/],
    [{ baseURL: 'http://localhost/v1?key=secret' }, /no user name, password, query .* or fragment/],
    [{ baseURL: 'http://localhost/v1?' }, /other parameters into query/],
    [{ baseURL: 'http://localhost/v1#x' }, /no user name, password, query .* or fragment/],
    [{ baseURL: 'http://localhost:8000/v1/chat/completions/' }, /must not end in .chat.completions, which is added/],
    [{ baseURL: 'localhost:8000' }, /http\(s\) address/],
    [{ concurrency: 0 }, /concurrency/],
    [{ headers: { 'Api-Key': 'x' } }, /name it in headersEnv/],
    [{ headersEnv: { 'api-key': 'sk-123' } }, /name of an environment variable, not the key/],
    [{ modell: 'x' }, /modell/],
  ])('refuses %j', (change, message) => {
    expect(() => endpointSchema.parse({ ...base, ...change })).toThrow(message);
  });

  it('names for annotation keys what changes an answer, and nothing else', () => {
    const one = endpointSchema.parse({
      ...base,
      name: 'a',
      apiKeyEnv: 'KEY',
      timeoutMs: 5,
      maxTokens: 7,
      logprobs: 'off',
      prices: { inputPerMillion: 1 },
    });
    expect(answerRelevantOptions(one)).toEqual(answerRelevantOptions(endpointSchema.parse(base)));
    expect(answerRelevantOptions(endpointSchema.parse({ ...base, seed: 3 }))).not.toEqual(answerRelevantOptions(one));
    expect(JSON.stringify(answerRelevantOptions(one))).not.toContain('KEY');
  });
});

const KEY = 'sk-very-secret-0123456789';
const env = { SCRIPTED_KEY: KEY };

describe('what a request carries besides its body', () => {
  it('are headers and query parameters, such as those of Azure, and no key that nobody gave', async () => {
    const server = await startServer();
    const endpoint = endpointAt(server, {
      headers: { 'x-route': 'eu' },
      headersEnv: { 'api-key': 'SCRIPTED_KEY' },
      query: { 'api-version': '2024-10-21' },
    });
    await quickService({ env }).chat(ask(endpoint));
    const [{ headers, query }] = server.requests;
    expect(headers).toMatchObject({ 'api-key': KEY, 'x-route': 'eu' });
    expect(headers).not.toHaveProperty('authorization');
    expect(query).toEqual({ 'api-version': '2024-10-21' });
    expect(answerRelevantOptions(endpoint)).toMatchObject({ headers: { 'x-route': 'eu' }, query });
    expect(JSON.stringify(answerRelevantOptions(endpoint))).not.toContain('SCRIPTED_KEY');
    await expect(quickService().chat(ask(endpoint))).rejects.toThrow(
      /header api-key from the environment variable SCRIPTED_KEY, which is not set/,
    );
  });

  it('may be a key behind the name of its scheme, which no message quotes', async () => {
    const server = await startServer(() => ({ status: 401, message: `no ${KEY}, no Basic ${KEY}` }));
    const service = quickService({ env: { AUTH: ` Basic ${KEY}\n` } });
    const failed = service.chat(ask(endpointAt(server, { headersEnv: { Authorization: 'AUTH' } })));
    await expect(failed).rejects.toThrow(/no \[value of AUTH\], no \[value of AUTH\]/);
    expect(server.requests[0].headers.authorization).toBe(`Basic ${KEY}`);
  });

  it('goes through the proxy that the environment names, except to this machine', async () => {
    const server = await startServer();
    const proxy = await startProxy(server.baseURL);
    const endpoint = endpointAt({ baseURL: 'http://models.invalid/v1' });
    const through = { HTTP_PROXY: proxy.origin };
    expect((await quickService({ env: through }).chat(ask(endpoint))).text).toBe('yes');
    expect(proxy.targets).toEqual(['models.invalid:80']);
    await quickService({ env: through }).chat(ask(endpointAt(server)));
    expect(proxy.targets).toHaveLength(1);
    const direct = quickService({ env: { ...through, NO_PROXY: '.invalid' }, retry: { maxAttempts: 1 } });
    await expect(direct.chat(ask(endpoint))).rejects.toThrow(/could not be reached/);
    expect(proxy.targets).toHaveLength(1);
    const bad = quickService({ env: { HTTPS_PROXY: 'user:secret@proxy' } });
    await expect(bad.chat(ask(endpoint))).rejects.toThrow(/HTTPS_PROXY holds no http\(s\) address of a proxy/);
    const locked = await startProxy(server.baseURL, { status: '407 Proxy Authentication Required' });
    const stranger = quickService({ env: { HTTP_PROXY: locked.origin } });
    await expect(stranger.chat(ask(endpoint))).rejects.toThrow(/a proxy wants a user name and a password .status 407./);
    expect(locked.targets).toHaveLength(1);
  });

  it('and an answer larger than allowed is not read to its end', async () => {
    const server = await startServer(() => 'x'.repeat(33_000_000));
    const failed = quickService().chat(ask(endpointAt(server)));
    await expect(failed).rejects.toThrow(/the answer is larger than 32 MB; lower maxTokens$/);
    expect(server.requests).toHaveLength(1);
  });
});

describe('API keys', () => {
  it('travel in the header alone, and local endpoints get a dummy', async () => {
    const server = await startServer();
    await quickService({ env }).chat(ask(endpointAt(server, { apiKeyEnv: 'SCRIPTED_KEY' })));
    await quickService({ env }).chat(ask(endpointAt(server)));
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, 'Bearer no-key']);
    expect(JSON.stringify(server.requests[0].body)).not.toContain(KEY);
  });

  it('that are missing or refused name their variable', async () => {
    const server = await startServer(() => ({ status: 401, message: `Incorrect API key provided: ${KEY}` }));
    const endpoint = endpointAt(server, { apiKeyEnv: 'SCRIPTED_KEY' });
    await expect(quickService({ env }).chat(ask(endpoint))).rejects.toThrow(
      /endpoint scripted refused the key in the environment variable SCRIPTED_KEY: check its value/,
    );
    await expect(quickService().chat(ask(endpoint))).rejects.toThrow(
      /takes its key from the environment variable SCRIPTED_KEY, which is not set; set it/,
    );
    expect(server.requests).toHaveLength(1);
  });

  const quoting: ScriptedReply[] = [
    ...[400, 401, 403, 404, 429, 500].map((status) => ({ status, message: `you sent ${KEY}`, code: KEY })),
    { status: 400, message: `maximum context length is 10 tokens, key ${KEY}` },
    { body: `not JSON: ${KEY}` },
    { body: JSON.stringify({ key: KEY }) },
    { body: JSON.stringify({ error: { message: KEY, code: 500 } }) },
    { text: '', finishReason: KEY },
  ];
  it.each(quoting)('appear in no error and no log, whatever the server quotes: %j', async (reply) => {
    const logs = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) =>
      vi.spyOn(console, level).mockImplementation(() => undefined),
    );
    vi.stubEnv('OPENAI_LOG', 'debug');
    const server = await startServer(() => reply);
    const endpoint = endpointAt(server, { apiKeyEnv: 'SCRIPTED_KEY' });
    const service = quickService({ env, retry: { maxAttempts: 2 } });
    const error = await service.chat(ask(endpoint)).catch((thrown: unknown) => thrown);
    vi.unstubAllEnvs();
    expect(error).toBeInstanceOf(Error);
    const seen = [
      inspect(error, { depth: 10, showHidden: true }),
      inspect(service, { depth: 10 }),
      inspect(endpoint),
      usageSummary(service.usage()),
      JSON.stringify(answerRelevantOptions(endpoint)),
      ...logs.flatMap((log) => log.mock.calls.map((call) => inspect(call, { depth: 10 }))),
    ].join('\n');
    for (const log of logs) log.mockRestore();
    expect(seen).not.toContain(KEY);
  });

  it('are masked in answers, which are kept', async () => {
    const server = await startServer(() => `You sent ${KEY}. Yes.`);
    const answer = await quickService({ env }).chat(ask(endpointAt(server, { apiKeyEnv: 'SCRIPTED_KEY' })));
    expect(answer.text).toBe('You sent [value of SCRIPTED_KEY]. Yes.');
  });

  it('and posts follow no redirect', async () => {
    const elsewhere = await startServer();
    const server = await startServer(() => ({
      status: 307,
      headers: { location: `${elsewhere.baseURL}/chat/completions` },
    }));
    const failed = quickService({ env }).chat(ask(endpointAt(server, { apiKeyEnv: 'SCRIPTED_KEY' })));
    await expect(failed).rejects.toThrow(
      `redirects to ${elsewhere.baseURL} (status 307); neither posts nor keys follow a redirect: if you trust that address, make it the baseURL`,
    );
    expect(server.requests).toHaveLength(1);
    expect(elsewhere.requests).toHaveLength(0);
  });

  it.each([
    ['/login?next=v1', 'http://.*/login .status 302.'],
    ['/v1/chat/completions/', 'http://.*/v1/chat/completions/ .status 302.'],
    ['http://[', 'nowhere'],
  ])('and a redirect to %s is no base address', async (location, seen) => {
    const server = await startServer(() => ({ status: 302, headers: { location } }));
    await expect(quickService().chat(ask(endpointAt(server)))).rejects.toThrow(
      new RegExp(
        `redirects to ${seen}.*no baseURL leads there: check it, and whether a login or a proxy stands before`,
      ),
    );
  });

  it('that no header can hold are refused without being quoted', async () => {
    const server = await startServer();
    const service = quickService({ env: { SCRIPTED_KEY: 'sk-one\nsk-two' } });
    const failed = service.chat(ask(endpointAt(server, { apiKeyEnv: 'SCRIPTED_KEY' })));
    await expect(failed).rejects.toThrow(InputError);
    await expect(failed).rejects.toThrow(/SCRIPTED_KEY holds characters that no key has/);
    await expect(failed).rejects.not.toThrow(/sk-one/);
  });
});
