import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Audit } from '../../checkpoints/policy/audit.ts';
import { isAudited, openedAudit } from '../../checkpoints/policy/audit.ts';
import { redisThreads } from '../../experiments/serve/redis-threads.ts';
import { readAudits } from '../../experiments/stop-agent/audit-file.ts';
import { openPolicy } from '../../experiments/stop-agent/policy/policy-folder.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { smallServer, threadLimits } from '../experiments/serve/small-server.ts';
import { runPython } from './python.ts';
import { startRedis } from './redis-server.ts';
import { freePort, startEarshot } from './serving.ts';

/* The same threads are audited, and the same comes of it, in Node, in Python, and by two servers that share a Redis. */

let cwd: string;
const programs: { kill(signal: NodeJS.Signals): Promise<void> }[] = [];
const threads = synthesizeThreads({ threads: 60, seed: 21 }).map((thread) => ({ ...thread, id: `fresh-${thread.id}` }));
const bundle = () => join(cwd, 'policy');

async function succeed(...words: string[]): Promise<void> {
  const { code, errors } = await earshot(words, { cwd });
  expect(code, errors).toBe(0);
}

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-audits-'));
  writeExperiment(join(cwd, 'tiny.yaml'), {
    agent: { ...tiny.agent, algorithm: 'settled', iterations: 20 },
    state: { posts: 'none', observesDetector: true },
  });
  await succeed('train', 'tiny.yaml');
  await succeed('export', 'runs/tiny/agent/seed-1', '--out', 'policy');
  const old = synthesizeThreads({ threads: 200, seed: 22 }).map((thread) => ({ ...thread, id: `old-${thread.id}` }));
  writeFileSync(join(cwd, 'old.jsonl'), old.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  await succeed('calibrate', 'policy', '--threads', 'old.jsonl', '--risk-level', '0.2');
});
afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGKILL')));
  rmSync(cwd, { recursive: true, force: true });
});

const byId = (audits: readonly Audit[]) =>
  new Map(audits.map(({ opened: _, outcome, ...own }) => [own.threadId, { ...own, ...outcome, closed: '' }]));

it('in Python as in Node', async () => {
  const policy = await openPolicy(bundle());
  const old = readFileSync(join(cwd, 'old.jsonl'), 'utf8').trim().split('\n').slice(100, 110);
  const all = [...threads, ...old.map((line): (typeof threads)[number] => JSON.parse(line))];
  const expected = await Promise.all(all.map((thread) => policy.audit(thread, { share: 0.2, seed: 3 })));
  const ids = [...Array.from({ length: 2000 }, (_, index) => `t${index}`), '谣言', '😱', ''];
  writeFileSync(join(cwd, 'given.json'), JSON.stringify({ threads: all, ids }));
  const program = `import json, sys
sys.path.insert(0, ${JSON.stringify(bundle())})
from earshot_policy import Policy, is_audited
given = json.load(open(${JSON.stringify(join(cwd, 'given.json'))}, encoding="utf-8"))
policy = Policy(${JSON.stringify(bundle())})
audits = [policy.audit(thread["id"], thread["posts"], 0.2) for thread in given["threads"]]
print(json.dumps({"audits": audits, "drawn": [is_audited(each, 0.2, 2**40 + 3) for each in given["ids"]]}))`;
  const { code, out, errors } = await runPython(['-c', program]);
  expect(code, errors).toBe(0);
  const found = JSON.parse(out);
  expect(found.drawn).toEqual(ids.map((id) => isAudited(id, { share: 0.2, seed: 2 ** 40 + 3 })));
  // The guarantee was found on the old ones.
  const isOld = ({ threadId, isCalibration }: Audit) => [threadId.startsWith('old-'), isCalibration ?? false];
  for (const own of [...found.audits, ...expected]) expect(isOld(own)[0]).toBe(isOld(own)[1]);
  const python = byId(found.audits);
  for (const [id, own] of byId(expected)) {
    const { path, ...rest } = own as typeof own & { path: { score: number; label: string }[] };
    const { path: other, ...others } = python.get(id) as typeof own & { path: { score: number; label: string }[] };
    expect(others).toEqual(rest);
    expect(other.map(({ label }) => label)).toEqual(path.map(({ label }) => label));
    for (const [index, { score }] of path.entries()) expect(other[index].score).toBeCloseTo(score, 5);
  }
});

it('by two servers on one Redis, one of which is gone before the threads end', async () => {
  const redis = await startRedis();
  const files = ['one.jsonl', 'two.jsonl'].map((name) => join(cwd, name));
  const stores = await Promise.all(files.map(() => redisThreads(redis.address, { ...threadLimits, idleMs: 20_000 })));
  const servers = await Promise.all(
    files.map((file, index) =>
      smallServer({
        bundles: { policy: bundle() },
        store: stores[index],
        audits: { file, share: 0.5, seed: 1, mostQueries: 1e9 },
      }),
    ),
  );
  const drawn = threads.filter(({ id }) => isAudited(id, { share: 0.5, seed: 1 }));
  // Post by post, to one server and the other in turns; a third of the threads never ends.
  for (const [place, { id, posts }] of threads.entries())
    for (const [index, post] of posts.entries()) {
      const end = index === posts.length - 1 && place % 3 > 0;
      const { status, body } = await servers[index % 2].post(id, { posts: [post], end });
      expect(status, JSON.stringify(body)).toBe(200);
    }
  const policy = await openPolicy(bundle());
  const isEnded = ({ outcome }: Audit) => outcome !== null;
  expect((await readAudits(files)).filter(isEnded).length).toBeLessThan(drawn.length);
  await servers[0].app.close();
  await expect
    .poll(
      async () => {
        await servers[1].endQuietThreads();
        return (await readAudits(files)).filter(isEnded).length;
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBe(drawn.length);
  const expected = await Promise.all(drawn.map((thread) => policy.audit(thread, { share: 0.5, seed: 1 })));
  expect(byId(await readAudits(files))).toEqual(byId(expected));
  await Promise.all(stores.map((store) => store.close()));
  await redis.kill();
});

it('are none the fewer after a page of them could not be read', async () => {
  const redis = await startRedis();
  programs.push(redis);
  const store = await redisThreads(redis.address, threadLimits);
  const policy = await openPolicy(bundle());
  const ids = Array.from({ length: 5001 }, (_, index) => `t${index}`);
  await Promise.all(ids.map((id) => store.shareAudit(openedAudit(id, policy, { share: 1, opened: new Date(0) }))));
  const unreadable = redis.ask('xadd', 'earshot:audits', '*', 'audit', '{}');
  await expect(store.sharedAudits()).rejects.toThrow('cannot read');
  redis.ask('xdel', 'earshot:audits', unreadable);
  expect((await store.sharedAudits()).map(({ threadId }) => threadId)).toEqual(ids);
  expect(await store.sharedAudits()).toEqual([]);
  await store.close();
});

it('of two servers under load, one of which is killed, are all kept and counted once; a new threshold reaches both', async () => {
  const redis = await startRedis();
  programs.push(redis);
  const share = 0.3;
  const start = async (file: string, port: number) => {
    const words = [bundle(), '--sessions', redis.address, '--audit', `${100 * share}%`, '--audits', join(cwd, file)];
    const server = await startEarshot(words, { port });
    programs.push(server);
    return server;
  };
  const ports = [await freePort(), await freePort()];
  const [first, second] = await Promise.all([start('load-1.jsonl', ports[0]), start('load-2.jsonl', ports[1])]);
  const addresses = [first.address, second.address];
  const many = synthesizeThreads({ threads: 300, seed: 23 }).map((thread) => ({ ...thread, id: `load-${thread.id}` }));

  /** Until one of the servers takes them. */
  const send = async (place: number, id: string, body: object): Promise<void> => {
    for (let attempt = 0; attempt < 400; attempt++) {
      const response = await fetch(`${addresses[(place + attempt) % 2]}/v1/threads/${id}/posts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).catch(() => null);
      if (response?.status === 200) return;
      expect([undefined, 409, 503]).toContain(response?.status);
      await sleep(50);
    }
    throw new Error(`no server takes the posts of ${id}`);
  };
  const acknowledged: string[] = [];
  const waiting = [...many.entries()];
  const client = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [place, { id, posts }] = next;
      for (const [index, post] of posts.entries())
        await send(place + index, id, { posts: [post], end: index === posts.length - 1 });
      acknowledged.push(id);
    }
  };
  const clients = Promise.all(Array.from({ length: 16 }, client));
  await expect.poll(() => acknowledged.length, { timeout: 60_000, interval: 10 }).toBeGreaterThan(60);
  await first.kill('SIGKILL');
  await sleep(200);
  await start('load-1.jsonl', ports[0]);
  await clients;

  const files = ['load-1.jsonl', 'load-2.jsonl'].map((name) => join(cwd, name));
  const drawn = many.filter(({ id }) => isAudited(id, { share, seed: 1 }));
  const policy = await openPolicy(bundle());
  const expected = await Promise.all(drawn.map((thread) => policy.audit(thread, { share, seed: 1 })));
  expect(byId(await readAudits(files))).toEqual(byId(expected));
  const monitored = await earshot(['monitor', 'policy', ...files, '--json'], { cwd });
  expect(JSON.parse(monitored.out)).toMatchObject({ now: { items: drawn.length }, waiting: 0, missing: 0, others: 0 });

  const guarantees = () =>
    Promise.all(addresses.map(async (address) => JSON.parse(await (await fetch(`${address}/v1/guarantee`)).text())));
  const thresholds = async () => (await guarantees()).map(({ threshold }) => threshold);
  for (const own of await guarantees()) expect(own).toMatchObject({ audits: drawn.length, waiting: 0, missing: 0 });
  const [before] = await thresholds();
  await succeed('monitor', 'policy', ...files, '--adapt');
  const { guarantee } = JSON.parse(readFileSync(join(bundle(), 'manifest.json'), 'utf8'));
  expect(guarantee.threshold).not.toBe(before);
  await expect.poll(thresholds, { timeout: 30_000, interval: 200 }).toEqual([guarantee.threshold, guarantee.threshold]);
});
