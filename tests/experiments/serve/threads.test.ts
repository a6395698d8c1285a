import { cpSync, rmSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Guarantee } from '../../../checkpoints/policy/guarantee.ts';
import { memoryThreads } from '../../../experiments/serve/thread-store.ts';
import { threadDecider } from '../../../experiments/stop-agent/decide.ts';
import { openPolicy } from '../../../experiments/stop-agent/policy/policy-folder.ts';
import type { PrefixModel } from '../../../src/data/prefix-model.ts';
import type { Prefix } from '../../../src/data/thread.ts';
import { ProviderError } from '../../../src/errors.ts';
import { smallGuarantee, timedModel } from '../../checkpoints/policy/small-bundle.ts';
import { biasedBundle, json, mixedBundle, smallServer, threads } from './small-server.ts';

const post = (id: string, more: Record<string, unknown> = {}) => ({ id, text: `text of ${id}`, ...more });
const never = () => biasedBundle(-50);

describe('a thread that comes post by post', () => {
  it.each<[number, Guarantee | null, PrefixModel?]>([
    [1, null],
    [3, null],
    [1000, null],
    [3, smallGuarantee(0.3)],
    [2, null, timedModel],
  ])('is decided as a whole one is, %d posts at a time (guarantee: %j, times: %j)', async (size, guarantee, model) => {
    const folder = await mixedBundle({ guarantee }, model);
    const decide = threadDecider(await openPolicy(folder));
    const server = await smallServer({ bundles: { small: folder } });
    const stops = new Set<string>();
    for (const thread of threads) {
      const expected = await decide(thread);
      let view = { decision: 'continue' };
      const scores: number[] = [];
      for (let from = 0; from < thread.posts.length && view.decision === 'continue'; from += size) {
        const { status, body } = await server.post(thread.id, { posts: thread.posts.slice(from, from + size) });
        expect(status).toBe(200);
        for (const { score } of body.posts) if (score !== null) scores.push(score);
        view = body;
      }
      if (view.decision === 'continue') view = (await server.post(thread.id, { posts: [], end: true })).body;
      const {
        threadId,
        post: at,
        time,
        hours,
        stopped,
        why,
        postsUsed,
        prediction,
        queries,
        outOfDistribution,
      } = expected;
      expect(outOfDistribution === null).toBe(guarantee === null);
      expect(view).toMatchObject({
        threadId,
        decision: 'stop',
        post: at,
        time,
        hours,
        stopped,
        why,
        postsUsed,
        prediction,
        queries,
        outOfDistribution,
      });
      expect(scores).toEqual(expected.scores);
      stops.add(stopped ? (postsUsed === 1 ? 'first' : 'later') : 'never');
    }
    // Or the comparison would be of one case only.
    expect(stops).toEqual(new Set(['first', 'later', 'never']));
  });

  it('is answered the same when a request is sent again, before and after the decision', async () => {
    const server = await smallServer({ bundles: { small: await never() } });
    const first = await server.post('t', { posts: [post('a'), post('b')] });
    expect(await server.post('t', { posts: [post('a'), post('b')] })).toEqual(first);
    expect((await server.post('t', { posts: [post('b'), post('b'), post('c'), post('c')] })).body).toMatchObject({
      postsUsed: 3,
      posts: [{ id: 'b' }, { id: 'b' }, { id: 'c' }, { id: 'c' }],
    });
    const last = await server.post('t', { posts: [post('d')], end: true });
    expect(last.body).toMatchObject({ decision: 'stop', stopped: false, postsUsed: 4, prediction: { label: 'rumor' } });
    expect(await server.post('t', { posts: [post('d')], end: true })).toEqual(last);
    const later = await server.post('t', { posts: [post('a'), post('e')] });
    expect(later.body).toMatchObject({ postsUsed: 4, post: 'd', prediction: last.body.prediction });
    expect(later.body.posts).toEqual([first.body.posts[0], { id: 'e', score: null }]);
    expect((await server.get('/v1/threads/t')).body).toMatchObject({ postsUsed: 4, posts: { length: 4 } });
  });

  it('is refused out of order, with the place, and nothing of that request is read', async () => {
    const server = await smallServer({ bundles: { small: await never() } });
    const at = (hour: number) => ({ time: `2020-01-01T0${hour}:00:00Z` });
    await server.post('t', { posts: [post('a', at(5)), post('b', at(3))] });
    const late = await server.post('t', { posts: [post('c', at(4)), post('d', at(2))] });
    expect(late).toMatchObject({ status: 409, body: { field: 'posts.1.time' } });
    expect(late.body.error).toContain('post "d" of 2020-01-01T02:00:00Z is earlier than one of 2020-01-01T04:00:00Z');
    expect((await server.get('/v1/threads/t')).body.postsUsed).toBe(2);
    const gap = await server.post('t', { posts: [post('e', { index: 3 })] });
    expect(gap).toMatchObject({ status: 409, body: { field: 'posts.0.index' } });
    expect(gap.body.error).toContain('has index 3, and the next post of the thread is 2');
    expect((await server.post('t', { posts: [post('a', { index: 1 })] })).body.error).toContain('stands at 0');
    expect((await server.post('t', { posts: [post('e', { index: 2 })] })).body.postsUsed).toBe(3);
  });

  it('begins with a post, ends by a deletion, and ends where the policy reads no further', async () => {
    const server = await smallServer({ bundles: { small: await never() } });
    expect(await server.post('t', { posts: [], end: true })).toMatchObject({ status: 404, body: { field: 'posts' } });
    expect(await server.get('/v1/threads/t')).toMatchObject({ status: 404, body: { field: 'id' } });
    const posts = Array.from({ length: 12 }, (_, index) => post(`p${index}`));
    // The bundle reads ten posts.
    const whole = await server.post('t', { posts });
    expect(whole.body).toMatchObject({ decision: 'stop', stopped: false, postsUsed: 10, post: 'p9' });
    expect(whole.body.posts[10]).toEqual({ id: 'p10', score: null });
    expect((await server.app.inject({ method: 'DELETE', url: '/v1/threads/t' })).statusCode).toBe(204);
    expect((await server.app.inject({ method: 'DELETE', url: '/v1/threads/t' })).statusCode).toBe(404);
    expect((await server.post('t', { posts: [post('new')] })).body).toMatchObject({ postsUsed: 1, post: 'new' });
  });

  it('is read once by each of many requests at the same time', async () => {
    const server = await smallServer({ bundles: { small: await never() } });
    const posts = Array.from({ length: 9 }, (_, index) => post(`p${index}`));
    await Promise.all(
      posts.flatMap((each) => [server.post('t', { posts: [each] }), server.post('t', { posts: [each] })]),
    );
    const { body } = await server.get('/v1/threads/t');
    expect(body.postsUsed).toBe(9);
    expect(new Set(body.posts.map(({ id }: { id: string }) => id)).size).toBe(9);
  });

  it('is the same thread under the same model only', async () => {
    const [first, second] = [await never(), await biasedBundle(50)];
    const server = await smallServer({ bundles: { first, second } });
    const unnamed = await server.post('t', { posts: [post('a')] });
    expect(unnamed).toMatchObject({ status: 400, body: { field: 'querystring.model' } });
    expect((await server.post('t', { posts: [post('a')] }, { query: '?model=first' })).body.decision).toBe('continue');
    expect((await server.post('t', { posts: [post('a')] }, { query: '?model=second' })).body.decision).toBe('stop');
    expect((await server.post('t', { posts: [post('a')] }, { query: '?model=third' })).status).toBe(404);
  });
});

describe('the prediction', () => {
  it('is asked for once, about the posts up to the stop, however many requests come', async () => {
    const asked: Prefix[] = [];
    const ask = async (prefix: Prefix) => {
      asked.push(prefix);
      return { label: 'rumor', probabilities: {} };
    };
    const server = await smallServer({ bundles: { small: await biasedBundle(50) }, ask });
    const requests = Array.from({ length: 8 }, () => server.post('t', { posts: [post('a'), post('b')] }));
    for (const { body } of await Promise.all(requests))
      expect(body.prediction).toEqual({ label: 'rumor', probabilities: {} });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ threadId: 't', posts: [{ id: 'a', text: 'text of a', stance: null }] });
  });

  it('is missing with the reason where the detector fails, and asked for again by the next request', async () => {
    let failures = 2;
    const ask = async () => {
      if (failures-- > 0) throw new ProviderError('the endpoint is down');
      return { label: 'rumor', probabilities: {} };
    };
    const server = await smallServer({ bundles: { small: await biasedBundle(50) }, ask });
    const failed = await server.post('t', { posts: [post('a')] });
    expect(failed).toMatchObject({
      status: 200,
      body: { decision: 'stop', prediction: null, predictionMissing: 'the endpoint is down' },
    });
    expect((await server.post('t', { posts: [post('b')] })).body).toMatchObject({ postsUsed: 1, prediction: null });
    expect((await server.get('/v1/threads/t')).body).toMatchObject({
      prediction: { label: 'rumor' },
      predictionMissing: null,
    });
  });

  it('is waited for no longer than allowed, and found by who asks later', async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let calls = 0;
    const ask = async () => {
      calls++;
      await answered;
      return { label: 'rumor', probabilities: {} };
    };
    const server = await smallServer({ bundles: { small: await biasedBundle(50) }, ask, limits: { predictionMs: 1 } });
    for (let request = 0; request < 3; request++) {
      const early = await server.post('t', { posts: [post('a')] });
      expect(early.body.predictionMissing).toContain('has not answered within 0.001 s');
    }
    expect(calls).toBe(1);
    answer();
    await expect
      .poll(async () => (await server.get('/v1/threads/t')).body.prediction)
      .toEqual({ label: 'rumor', probabilities: {} });
  });

  it('may be that the detector does not decide', async () => {
    const ask = async () => ({ label: null, probabilities: null });
    const server = await smallServer({ bundles: { small: await biasedBundle(50) }, ask });
    const { body } = await server.post('t', { posts: [post('a')] });
    expect(body).toMatchObject({ prediction: null, predictionMissing: 'the detector does not decide on these posts' });
  });
});

it('says that a detector cannot be asked now where the policy queries it while it reads', async () => {
  let isDown = true;
  const ask = async () => {
    if (isDown) throw new ProviderError('the endpoint is down');
    return { label: 'rumor', probabilities: null };
  };
  const folder = await mixedBundle({ queries: { lengths: [1, 2], actsAt: 'every-post', maxPosts: 10 } });
  const server = await smallServer({ bundles: { small: folder }, ask });
  const failed = await server.post('t', { posts: [post('a')] });
  expect(failed).toEqual({ status: 503, body: { error: 'the endpoint is down', field: null } });
  expect(server.log.filter((line) => line.includes('defect'))).toEqual([]);
  isDown = false;
  expect(await server.post('t', { posts: [post('a')] })).toMatchObject({ status: 200, body: { queries: 1 } });
});

it('refuses a whole thread that no thread file may hold', async () => {
  const server = await smallServer();
  const decided = async (...posts: object[]) => (await server.decide({ threads: [{ posts }] })).body;
  expect(await decided({ id: '1', text: 'a' }, { id: '1', text: 'b' })).toMatchObject({
    field: 'threads.0.posts.1.id',
  });
  const days = ['02', '03', '02'].map((day) => ({ text: 'a', time: `2024-01-${day}T00:00:00Z` }));
  const unordered = await decided(...days);
  expect(unordered.error).toContain('is earlier than 2024-01-03T00:00:00Z before it');
  expect(unordered.field).toBe('threads.0.posts.2.time');
  expect((await server.decide({})).body.error).toBe('threads: is missing; expected array');
});

describe('threads in memory', () => {
  it('are refused where there is no room, expire when idle, and their texts go with the decision', async () => {
    let now = 0;
    const store = memoryThreads({ maxThreads: 2, idleMs: 1000, maxCharacters: 40, now: () => now });
    const server = await smallServer({ bundles: { small: await never() }, store });
    await server.post('a', { posts: [post('1')] });
    now = 600;
    await server.post('b', { posts: [post('1')] });
    const full = await server.post('c', { posts: [post('1')] });
    expect(full).toMatchObject({ status: 503, body: { error: expect.stringContaining('2 threads are open') } });
    expect((await server.post('b', { posts: [post('2', { text: 'x'.repeat(30) })] })).body.error).toContain(
      'characters of text',
    );
    now = 1100;
    expect((await server.get('/v1/threads/a')).status).toBe(404);
    expect((await server.post('b', { posts: [], end: true })).body.decision).toBe('stop');
    expect((await server.post('c', { posts: [post('1', { text: 'x'.repeat(40) })] })).status).toBe(200);
    expect(await store.count()).toBe(2);
    now = 2100;
    expect(await store.count()).toBe(0);
  });

  it('are read again from their posts where the process does not remember its place', async () => {
    const server = await smallServer({ bundles: { small: await never() }, limits: { maxReadings: 1 } });
    const alone = await smallServer({ bundles: { small: await never() } });
    for (const id of ['a', 'b', 'c', 'd']) {
      await server.post('t', { posts: [post(id)] });
      await server.post('other', { posts: [post(id)] });
      await alone.post('t', { posts: [post(id)] });
    }
    expect((await server.get('/v1/threads/t')).body).toEqual((await alone.get('/v1/threads/t')).body);
  });

  it('go on under a bundle that was loaded meanwhile, and keep what was decided', async () => {
    const [folder, other] = [await never(), await biasedBundle(50)];
    const server = await smallServer({ bundles: { small: folder } });
    await server.post('open', { posts: [post('a'), post('b')] });
    const decided = await server.post('decided', { posts: [post('a')], end: true });
    rmSync(folder, { recursive: true });
    cpSync(other, folder, { recursive: true });
    expect((await server.app.inject({ method: 'POST', url: '/v2/repository/models/small/load' })).statusCode).toBe(200);
    // As the new bundle decides the thread from its beginning.
    expect((await server.get('/v1/threads/open')).body).toMatchObject({
      decision: 'stop',
      stopped: true,
      postsUsed: 1,
    });
    expect((await server.get('/v1/threads/decided')).body).toEqual(decided.body);
  });
});

it('decides a line of a thread file as it is, without reading its labels', async () => {
  const server = await smallServer();
  const [{ id, posts }] = threads;
  const line = { ...threads[0], rumor: true, labels: { outcome: 'late' }, split: 'test' };
  const [whole, bare] = [await server.decide({ threads: [line] }), await server.decide({ threads: [{ id, posts }] })];
  expect(whole).toMatchObject({ status: 200, body: { decisions: [{ threadId: id }] } });
  expect(whole.body).toEqual(bare.body);
  const unwrapped = await server.decide(line);
  expect(unwrapped.status).toBe(400);
  expect(unwrapped.body.error).toContain('did you mean threads ([{ id, posts }])?');
});

it('says which field of a request is wrong', async () => {
  const server = await smallServer();
  for (const [body, field, said] of [
    [{}, 'posts', 'expected array'],
    [{ posts: [{ id: 'a', txt: 'b' }] }, 'posts.0.txt', 'posts.0.txt: unknown key, did you mean text?'],
    [{ post: post('a') }, 'post', 'post: unknown key, did you mean posts (a list)?'],
    [{ posts: [post('a'), { id: '', text: '' }] }, 'posts.1.id', 'Too small'],
    [{ posts: [post('a', { time: 'yesterday' })] }, 'posts.0.time', 'ISO 8601'],
    [{ posts: [post('a', { time: '2025-01-01T00:00:00' })] }, 'posts.0.time', 'names no time zone: write Z behind it'],
    [{ posts: [post('a\u0007')] }, 'posts.0.id', 'control characters'],
    [{ posts: Array.from({ length: 1001 }, (_, index) => post(`${index}`)) }, 'posts', '1000'],
    [[], 'body', 'expected object'],
    [null, 'body', 'expected object'],
  ] as const) {
    const answer = await server.post('t', body);
    expect(answer, JSON.stringify(body)?.slice(0, 80)).toMatchObject({ status: 400, body: { field } });
    expect(answer.body.error).toContain(said);
  }
  const long = await server.post('t'.repeat(5000), { posts: [post('a')] });
  expect(long.status).toBe(414);
  expect(long.body.error).toBe('the address is too long; the id of a thread has at most 256 characters');
  const text = await server.app.inject({
    method: 'POST',
    url: '/v1/threads/t/posts',
    payload: '{"posts": [tex',
    headers: json,
  });
  expect(text.statusCode).toBe(400);
  expect(text.json()).toEqual({ error: 'the body is not JSON', field: 'body' });
  const form = await server.app.inject({
    method: 'POST',
    url: '/v1/threads/t/posts',
    payload: 'a=b',
    headers: { 'content-type': 'text/plain' },
  });
  expect(form.statusCode).toBe(415);
});

it('decides no text that a body in another encoding would lose', async () => {
  const server = await smallServer();
  const send = (payload: Buffer, headers: Record<string, string> = {}) =>
    server.app.inject({ method: 'POST', url: '/v1/threads/t/posts', payload, headers: { ...json, ...headers } });
  const body = JSON.stringify({ posts: [post('a', { text: 'Café' })] });
  const latin = await send(Buffer.from(body, 'latin1'));
  expect(latin.statusCode).toBe(400);
  expect(latin.json()).toEqual({ error: 'the body is not UTF-8, which JSON is written in', field: 'body' });
  expect((await send(Buffer.from(body))).statusCode).toBe(200);
});

it('reads bodies packed with gzip, up to the size of others, and says what it does not read', async () => {
  const server = await smallServer({ limits: { bodyBytes: 10_000 } });
  const send = (id: string, payload: Buffer, encoding: string) =>
    server.app.inject({
      method: 'POST',
      url: `/v1/threads/${id}/posts`,
      payload,
      headers: { ...json, 'content-encoding': encoding },
    });
  const body = JSON.stringify({ posts: [post('a', { text: 'Café' }), post('b')] });
  const plain = await server.post('plain', JSON.parse(body));
  const packed = await send('packed', gzipSync(body), 'gzip');
  expect(packed.statusCode).toBe(200);
  expect(packed.json().posts).toEqual(plain.body.posts);
  const bomb = await send('bomb', gzipSync(JSON.stringify({ posts: [post('a', { text: 'a'.repeat(1e6) })] })), 'gzip');
  expect([bomb.statusCode, bomb.json().error]).toEqual([
    413,
    expect.stringContaining('more than the 10,000 bytes (0.01 MB)'),
  ]);
  const cut = await send('cut', gzipSync(body).subarray(0, 20), 'gzip');
  expect([cut.statusCode, cut.json()]).toEqual([400, expect.objectContaining({ field: 'content-encoding' })]);
  const other = await send('other', Buffer.from(body), 'br');
  expect([other.statusCode, other.json().error]).toEqual([
    415,
    expect.stringContaining('packed with "br" are not read'),
  ]);
});

it('asks in its interface for the model where several are served, and only there', async () => {
  const one = await smallServer();
  const two = await smallServer({ bundles: { a: await mixedBundle(), b: await never() } });
  const parameterOf = async (server: typeof one) => {
    const { body } = await server.get('/openapi.json');
    return body.paths['/v1/threads/{id}/posts'].post.parameters.find(({ name }: { name: string }) => name === 'model');
  };
  expect((await parameterOf(one)).required ?? false).toBe(false);
  expect(await parameterOf(two)).toMatchObject({ required: true });
  const unnamed = await two.post('t', { posts: [post('a')] });
  expect(unnamed).toMatchObject({ status: 400 });
  expect(unnamed.body.error).toContain('several models are served (a, b); name one with ?model=');
});

it('takes a request without a body that announces JSON, as many clients do', async () => {
  const server = await smallServer();
  await server.post('t', { posts: [post('a')] });
  const gone = await server.app.inject({ method: 'DELETE', url: '/v1/threads/t', headers: json });
  expect(gone.statusCode).toBe(204);
  expect((await server.get('/v1/threads/t')).status).toBe(404);
  const empty = await server.app.inject({ method: 'POST', url: '/v1/threads/t/posts', headers: json });
  expect(empty.statusCode).toBe(400);
  expect(empty.json()).toMatchObject({ field: 'body' });
});
