import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Audit } from '../../../checkpoints/policy/audit.ts';
import { guaranteeInBundle } from '../../../checkpoints/policy/write-bundle.ts';
import { memoryThreads } from '../../../experiments/serve/thread-store.ts';
import { readAudits } from '../../../experiments/stop-agent/audit-file.ts';
import { openPolicy } from '../../../experiments/stop-agent/policy/policy-folder.ts';
import { threadIdentity } from '../../../src/data/thread.ts';
import { smallGuarantee } from '../../checkpoints/policy/small-bundle.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { biasedBundle, listening, mixedBundle, smallServer, threadLimits, threads } from './small-server.ts';

function logged({ share = 1 }: { share?: number } = {}) {
  const file = join(temporaryFolder({}), 'audits.jsonl');
  const audits = { file, share, seed: 1, mostQueries: Number.POSITIVE_INFINITY };
  return { audits, read: () => readAudits([file]) };
}
const withoutTimes = ({ opened: _, outcome, ...rest }: Audit) => ({ ...rest, outcome: { ...outcome, closed: '' } });
const post = (id: string, more: object = {}) => ({ id, text: `text of ${id}`, ...more });

describe('audits of a server', () => {
  it.each([1, 3, 1000])('are those of the whole threads, %d posts at a time', async (size) => {
    const folder = await mixedBundle({ guarantee: smallGuarantee(0.5) });
    const { audits, read } = logged();
    const server = await smallServer({ bundles: { small: folder }, audits });
    const policy = await openPolicy(folder);
    const expected: Audit[] = [];
    for (const thread of threads) {
      for (let from = 0; from < thread.posts.length; from += size) {
        const end = from + size >= thread.posts.length;
        const sent = await server.post(thread.id, { posts: thread.posts.slice(from, from + size), end });
        expect(sent.status, JSON.stringify(sent.body)).toBe(200);
      }
      expected.push(await policy.audit(thread, { share: 1, seed: 1 }));
    }
    const byId = (all: readonly Audit[]) => new Map(all.map((audit) => [audit.threadId, withoutTimes(audit)]));
    expect(byId(await read())).toEqual(byId(expected));

    const { body } = await server.get('/v1/guarantee');
    expect(body).toMatchObject({ level: 0.05, audits: threads.length, waiting: 0, alarm: true, alarmAt: 20 });
    const metrics = await server.app.inject('/metrics');
    expect(metrics.body).toContain(`earshot_audits_changed{model="small"} ${body.changed}`);
    expect(metrics.body).toContain('earshot_guarantee_alarm{model="small"} 1');
  });

  it('raise no alarm where the threshold follows them', async () => {
    const adapted = { audits: 1, losses: 1, history: [] };
    const folder = await mixedBundle({ guarantee: { ...smallGuarantee(0.5), adapted } });
    const server = await smallServer({ bundles: { small: folder }, audits: logged().audits });
    for (const { id, posts } of threads) await server.post(id, { posts, end: true });
    const { body } = await server.get('/v1/guarantee');
    expect(body).toMatchObject({ audits: threads.length, alarm: false });
    expect(body.eValue).toBeGreaterThan(body.alarmAt);
    expect((await server.app.inject('/metrics')).body).toContain('earshot_guarantee_alarm{model="small"} 0');
  });

  it('leave out threads that the guarantee was found on', async () => {
    const [first, ...others] = threads.slice(0, 4);
    const calibratedOn = [threadIdentity(first).slice(0, 16), 'f'.repeat(16)];
    const folder = await mixedBundle({ guarantee: { ...smallGuarantee(0.5), calibratedOn } });
    const { audits, read } = logged();
    const server = await smallServer({ bundles: { small: folder }, audits });
    // The same id with another claim is another thread.
    const namesake = { ...others[0], id: first.id };
    for (const { id, posts } of [first, ...others]) await server.post(id, { posts, end: true });
    expect(new Set((await read()).map(({ threadId }) => threadId))).toEqual(new Set(others.map(({ id }) => id)));
    const policy = await openPolicy(folder);
    expect(await Promise.all([first, namesake, ...others].map(policy.isCalibratedOn))).toEqual([
      true,
      ...[namesake, ...others].map(() => false),
    ]);
    // A program of one's own audits what it likes, and the line says so.
    expect(await policy.audit(first, { share: 1, seed: 1 })).toMatchObject({ isCalibration: true });
    expect(await policy.audit(namesake, { share: 1, seed: 1 })).not.toHaveProperty('isCalibration');
  });

  it('wait for threads that are open, and close them when they have gone quiet', async () => {
    let now = 0;
    const store = memoryThreads({ ...threadLimits, now: () => now });
    const { audits, read } = logged();
    const server = await smallServer({
      bundles: { small: await biasedBundle(50) },
      store,
      audits,
      now: () => new Date(now),
    });
    await server.post('t', { posts: [post('a'), post('b')] });
    await server.post('t', { posts: [post('b'), post('c')] });
    expect(await read()).toMatchObject([{ threadId: 't', outcome: null }]);
    await server.endQuietThreads();
    expect(await read()).toMatchObject([{ outcome: null }]);
    now += threadLimits.idleMs;
    await server.endQuietThreads();
    expect(await read()).toMatchObject([{ outcome: { posts: 3, postsUsed: 1, queries: 2 } }]);
    now += threadLimits.idleMs;
    expect(await store.count()).toBe(0);
  });

  it('are missing where a thread is deleted, and are not made of threads that were not drawn', async () => {
    const { audits, read } = logged();
    const server = await smallServer({ bundles: { small: await biasedBundle(50) }, audits });
    await server.post('t', { posts: [post('a')] });
    await server.app.inject({ method: 'DELETE', url: '/v1/threads/t' });
    expect(await read()).toMatchObject([{ outcome: { missing: 'the thread was deleted' } }]);

    const none = logged({ share: 1e-9 });
    const other = await smallServer({ bundles: { small: await biasedBundle(50) }, audits: none.audits });
    await other.post('t', { posts: [post('a'), post('b')], end: true });
    expect(await none.read()).toEqual([]);
    expect((await other.store.read('small/t', null))?.posts).toEqual([]);
    expect((await other.get('/v1/guarantee')).body.error).toContain('has no guarantee');
  });

  it('use a new guarantee of a bundle without a restart', async () => {
    const folder = await mixedBundle({ guarantee: smallGuarantee(0.5) });
    const file = join(temporaryFolder({}), 'audits.jsonl');
    const serving = await listening({ folder, audits: { file, share: 1, seed: 1, mostQueries: 1e9 } });
    const answer = z.looseObject({ threshold: z.number() });
    const threshold = async () => answer.parse(await (await fetch(`${serving.address}/v1/guarantee`)).json()).threshold;
    expect(await threshold()).toBe(0.5);
    await guaranteeInBundle(folder, smallGuarantee(0.75));
    for (let waited = 0; waited < 100 && (await threshold()) !== 0.75; waited++) await sleep(100);
    expect(await threshold()).toBe(0.75);
  });
});
