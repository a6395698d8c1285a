import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { AskShared } from '../../../experts/asking/shared-questions.ts';
import { endsAllCalls } from '../../../experts/llm/failures.ts';
import { retrySchema } from '../../../experts/llm/sending/retry.ts';
import { createWebSearch, webSearchSchema } from '../../../experts/retrieval/web-search.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { Random } from '../../../src/tensor/random.ts';
import { askAnew } from './ask-anew.ts';
import { startService, webResults } from './fake-service.ts';

const context = {
  retry: retrySchema.parse({ maxAttempts: 3, baseMs: 1, capMs: 2 }),
  random: Random.seeded({ seed: 1, purpose: 'jitter' }),
  signal: null,
  env: {},
};
const KEY = 'secret-key';

async function setUp(answer: Parameters<typeof startService>[0], more: object = {}) {
  const service = await startService(answer);
  const options = webSearchSchema.parse({ baseURL: `${service.origin}/res/v1/`, ...more });
  const search = createWebSearch({ options, context: { ...context, env: { BRAVE_API_KEY: KEY } } });
  const find = (cutoff = '2018-02-28') => search({ ask: { keywords: ['Foxx', 'Holmes'] }, cutoff, askShared: askAnew });
  return { service, search, find };
}

describe('web search', () => {
  it('asks as Brave wants it, with the cut-off and the exclusions', async () => {
    const { service, find } = await setUp(() => webResults());
    expect(await find()).toEqual([]);
    const [{ path, query, headers }] = service.requests;
    expect(path).toBe('/res/v1/web/search');
    expect(query).toMatchObject({
      q: expect.stringMatching(
        /^"Foxx" AND "Holmes" -site:gossipcop\.com -site:wikipedia\.org -site:nytimes\.com -site:politifact\.com /,
      ),
      count: '20',
      freshness: '1990-01-01to2018-02-28',
      result_filter: 'web',
      extra_snippets: 'true',
    });
    expect(query.q).toMatch(/-site:snopes\.com.*-site:bbc\.com/);
    expect(query.q.length).toBeLessThanOrEqual(400);
    expect(query.q.split(' ').length).toBeLessThanOrEqual(50);
    expect(headers['x-subscription-token']).toBe(KEY);
  });

  it('checks the dates of what came back again, and drops results without one', async () => {
    const answer = () =>
      webResults(
        { url: 'https://a.example/1', page_age: '2018-02-28T23:59:59' },
        { url: 'https://a.example/2', page_age: '2018-03-01T00:00:00' },
        { url: 'https://a.example/3', age: 'February 3, 2018' },
        { url: 'https://a.example/4', age: 'March 3, 2018' },
        { url: 'https://a.example/5', age: '2 days ago' },
        { url: 'https://a.example/6' },
      );
    const { find } = await setUp(answer);
    expect((await find()).map(({ url, date }) => [url.at(-1), date])).toEqual([
      ['1', '2018-02-28'],
      ['3', '2018-02-03'],
    ]);
    expect((await find('2018-03-03')).map(({ url }) => url.at(-1))).toEqual(['1', '2', '3', '4']);
  });

  it('drops excluded domains and those below them, also where the query had no room for them', async () => {
    const page_age = '2018-01-01T00:00:00';
    const { find, service } = await setUp(
      () =>
        webResults(
          { url: 'https://www.snopes.com/x', page_age },
          { url: 'https://en.wikipedia.org/wiki/Foxx', page_age },
          { url: 'https://edition.CNN.com/x', page_age },
          { url: 'https://last.example/x', page_age },
          { url: 'https://notsnopes.com/x', page_age },
          { url: 'no address', page_age },
        ),
      { excludedNews: ['cnn.com', ...Array.from({ length: 60 }, (_, index) => `n${index}.example`), 'last.example'] },
    );
    expect((await find()).map(({ url }) => url)).toEqual(['https://notsnopes.com/x']);
    expect(service.requests[0].query.q).not.toContain('last.example');
  });

  it('takes as many results as told of those that are left', async () => {
    const page_age = '2018-01-01T00:00:00';
    const results = Array.from({ length: 20 }, (_, index) => ({
      url: index < 8 ? `https://www.cnn.com/${index}` : `https://a.example/${index}`,
      page_age,
    }));
    const ten = await setUp(() => webResults(...results));
    expect((await ten.find()).map(({ url }) => url.split('/').at(-1))).toEqual(
      Array.from({ length: 10 }, (_, index) => `${index + 8}`),
    );
    const two = await setUp(() => webResults(...results), { maxResults: 2 });
    expect(await two.find()).toHaveLength(2);
  });

  it('reads summary and snippets as plain text', async () => {
    const { find } = await setUp(() =>
      webResults({
        url: 'https://a.example/1',
        title: 'A &amp; B',
        description: 'They <strong>deny</strong> it.',
        extra: ['More.', 'They <b>deny</b> it.'],
        page_age: '2018-01-01',
      }),
    );
    expect(await find()).toEqual([
      { title: 'A & B', url: 'https://a.example/1', text: 'They deny it.\nMore.', date: '2018-01-01' },
    ]);
  });

  it('tries again when the service is busy, and says what failed for good', async () => {
    const busy = await setUp((_, index) => (index < 2 ? { status: 429, body: 'slow down' } : webResults()));
    expect(await busy.find()).toEqual([]);
    expect(busy.service.requests).toHaveLength(3);
    const down = await setUp(() => ({ status: 500, body: 'oh no' }));
    await expect(down.find()).rejects.toThrow(
      /^the web search \(http.*\/web\/search\) failed with status 500 after 3 attempts: oh no; run again later/,
    );
    const refused = await setUp(() => ({ status: 401, body: 'bad token' }));
    await expect(refused.find()).rejects.toThrow(/refused the request.*BRAVE_API_KEY/);
    await expect(refused.find()).rejects.not.toThrow(KEY);
    expect(refused.service.requests).toHaveLength(2);
    const odd = await setUp(() => ({ web: { results: 'none' } }));
    await expect(odd.find()).rejects.toThrow(ProviderError);
  });

  it.each([
    [{ status: 401 }, 'ends all'],
    [{ status: 402 }, 'ends all'],
    [{ status: 403 }, 'ends all'],
    [{ status: 404 }, 'ends all'],
    [{ status: 429, headers: { 'retry-after': '86400' } }, 'ends all'],
    [{ status: 429, body: 'your limit of requests per day is reached' }, 'ends all'],
    [{ status: 400 }, 'fails alone'],
    [{ status: 429 }, 'fails alone'],
    [{ status: 500 }, 'fails alone'],
    [{ web: { results: 'none' } }, 'fails alone'],
  ])('a search that fails with %j %s', async (answer, kind) => {
    const { find } = await setUp(() => answer);
    const error = await find().catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ProviderError);
    expect(endsAllCalls(error)).toBe(kind === 'ends all');
  });

  it('masks a key that the service quotes, in results and errors', async () => {
    const quoting = await setUp(() =>
      webResults({ url: `https://a.example/${KEY}`, description: `sent by ${KEY}`, page_age: '2018-01-01' }),
    );
    const kept: unknown[] = [];
    const askShared: AskShared = async (_question, ask) => {
      const { value } = await ask();
      kept.push(value);
      return { value, usage: { requests: 0, inputTokens: 0, outputTokens: 0 } };
    };
    const found = await quoting.search({ ask: { sentence: 'x' }, cutoff: '2018-02-28', askShared });
    expect(found[0].text).toBe('sent by [value of BRAVE_API_KEY]');
    expect(JSON.stringify([found, kept])).not.toContain(KEY);
    for (const answer of [
      { status: 400, body: `your key is ${KEY}` },
      { status: 402, body: `no credit for ${KEY}` },
      { status: 500, body: `${encodeURIComponent(KEY)} failed` },
      { web: { results: `none for ${KEY}` } },
    ]) {
      const failed = await (await setUp(() => answer)).find().catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(ProviderError);
      expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain(KEY);
    }
  });

  it('takes the key to no other host', async () => {
    const elsewhere = await startService(() => ({ status: 401, body: 'who are you?' }));
    const { service, find } = await setUp(({ path, query }) =>
      path.startsWith('/res')
        ? { status: 302, headers: { location: `/moved?q=${query.q}` } }
        : { status: 307, headers: { location: `${elsewhere.origin}/search` } },
    );
    await expect(find()).rejects.toThrow(/redirects to http:\/\/127.*which was not sent the key.*make it the baseURL/);
    expect(service.requests.map(({ headers }) => headers['x-subscription-token'])).toEqual([KEY, KEY]);
    expect(elsewhere.requests).toHaveLength(1);
    expect(JSON.stringify(elsewhere.requests)).not.toContain(KEY);
  });

  it('says which variable to set when there is no key', async () => {
    const service = await startService(() => webResults());
    const options = webSearchSchema.parse({ baseURL: service.origin });
    const withoutKey = () => createWebSearch({ options, context: { ...context, env: {} } });
    expect(withoutKey).toThrow(InputError);
    expect(withoutKey).toThrow('BRAVE_API_KEY, which is not set');
    const open = createWebSearch({ options: { ...options, apiKeyEnv: null }, context: { ...context, env: {} } });
    await open({ ask: { sentence: 'x "y"' }, cutoff: '2018-02-28', askShared: askAnew });
    expect(service.requests[0].headers).not.toHaveProperty('x-subscription-token');
    expect(service.requests[0].query.q).toMatch(/^x y -site:/);
  });
});
