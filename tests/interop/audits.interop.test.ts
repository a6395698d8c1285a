import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isAudited } from '../../checkpoints/policy/audit.ts';
import type { Audit } from '../../checkpoints/policy/audit-schema.ts';
import { auditLog } from '../../experiments/serve/audit-log.ts';
import { redisThreads } from '../../experiments/serve/redis-threads.ts';
import { readAudits } from '../../experiments/stop-agent/audit-file.ts';
import { policyOfBundle } from '../../experiments/stop-agent/bundle-folder.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { smallServer, threadLimits } from '../experiments/serve/small-server.ts';
import { runPython } from './python.ts';
import { startRedis } from './redis-server.ts';

/* The same threads are audited, and the same comes of it, in Node, in Python, and by two servers that share a Redis. */

let cwd: string;
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
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const byId = (audits: readonly Audit[]) =>
  new Map(audits.map(({ opened: _, outcome, ...own }) => [own.threadId, { ...own, ...outcome, closed: '' }]));

it('in Python as in Node', async () => {
  const policy = await policyOfBundle(bundle());
  const expected = await Promise.all(threads.map((thread) => policy.audit(thread, { share: 0.2, seed: 3 })));
  const ids = [...Array.from({ length: 2000 }, (_, index) => `t${index}`), '谣言', '😱', ''];
  writeFileSync(join(cwd, 'given.json'), JSON.stringify({ threads, ids }));
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
        audits: auditLog({ file, share: 0.5, seed: 1, mostQueries: 1e9 }),
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
  const policy = await policyOfBundle(bundle());
  const isEnded = ({ outcome }: Audit) => outcome !== null;
  expect(readAudits(files).filter(isEnded).length).toBeLessThan(drawn.length);
  await servers[0].app.close();
  await expect
    .poll(
      async () => {
        await servers[1].endQuietThreads();
        return readAudits(files).filter(isEnded).length;
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBe(drawn.length);
  const expected = await Promise.all(drawn.map((thread) => policy.audit(thread, { share: 0.5, seed: 1 })));
  expect(byId(readAudits(files))).toEqual(byId(expected));
  await Promise.all(stores.map((store) => store.close()));
  await redis.kill();
});
