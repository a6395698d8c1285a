/*
 * What threads cost `earshot serve`: processor time by kind of request and memory by kind of thread, in its own memory or on Redis with
 * that server's beside it. Times are those that the kernel counts for the processes, so that other work disturbs them little.
 *
 *   node --import tsx benchmarks/thread-costs.ts --bundle policy [--sessions redis://localhost:6379] [--out costs.json]
 *
 * It needs an empty Redis that nothing else uses. `benchmarks/a-day.ts` reads what --out writes.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { markdownTable } from 'markdown-table';
import { bundleFiles, readManifest } from '../checkpoints/policy/manifest.ts';
import { readWeights } from '../checkpoints/policy/network.ts';
import { bundleContents, weightsFile, writeBundle } from '../checkpoints/policy/write-bundle.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { freePort } from '../tests/interop/serving.ts';
import type { ThreadCosts } from './thread-costs-schema.ts';

const { values } = parseArgs({
  options: {
    bundle: { type: 'string' },
    sessions: { type: 'string', default: 'memory' },
    out: { type: 'string' },
  },
});
if (values.bundle === undefined) throw new Error('give --bundle, a folder that `earshot export` made');
/** The server remembers its place in so many threads; of the others it reads all posts again at the next one. */
const remembered = 2000;
const others = 4000;
const postsOfThread = 8;
const redis = values.sessions === 'memory' ? null : new Redis(values.sessions);
if (redis !== null && (await redis.dbsize()) > 0) {
  redis.disconnect();
  throw new Error(`the database at ${values.sessions} is not empty; give another one`);
}
const folder = mkdtempSync(join(tmpdir(), 'earshot-costs-'));
const neverStopping = join(folder, 'policy');
await writeNeverStopping(values.bundle, neverStopping);
const port = await freePort();
const collectOnSignal = 'data:text/javascript,process.on("SIGUSR2",()=>{gc();gc()})';
const program = join(import.meta.dirname, '../experiments/cli/earshot.mjs');
const server = spawn(
  process.execPath,
  [
    ...['--expose-gc', '--import', collectOnSignal, program, 'serve', neverStopping, '--port', String(port)],
    ...['--sessions', values.sessions, '--max-threads', '1000000', '--log-level', 'error'],
  ],
  { stdio: ['ignore', 'ignore', 'inherit'] },
);
const url = `http://127.0.0.1:${port}`;

/** Writes a bundle again with a policy that never stops, so that threads stay open. What a post costs stays as it was. */
async function writeNeverStopping(bundle: string, out: string): Promise<void> {
  const manifest = await readManifest(readFileSync(join(bundle, bundleFiles.manifest), 'utf8'));
  const network = readWeights(readFileSync(join(bundle, bundleFiles.weights)), manifest.state);
  network.layers.b3.set([100, -100]);
  const { files: listed, sha256: _, ...rest } = manifest;
  const files = Object.fromEntries(Object.keys(listed).map((name) => [name, readFileSync(join(bundle, name))]));
  const replaced = { [bundleFiles.weights]: weightsFile(network), [bundleFiles.golden]: '' };
  writeBundle(out, await bundleContents({ manifest: rest, files: { ...files, ...replaced } }));
}

interface Use {
  /** Processor time, ms. */
  readonly serverMs: number;
  readonly redisMs: number;
  /** Memory in use after a collection, bytes. */
  readonly serverBytes: number;
  readonly redisBytes: number;
}

/** CPU time of both processes so far. */
async function use(): Promise<Use> {
  server.kill('SIGUSR2');
  await delay(1000);
  const text = await (await fetch(`${url}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
  const info = (await redis?.info()) ?? '';
  const ofRedis = (name: string) => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    serverMs: 1000 * metric('process_cpu_seconds_total'),
    redisMs: 1000 * (ofRedis('used_cpu_user') + ofRedis('used_cpu_sys')),
    serverBytes: metric('nodejs_heap_size_used_bytes') + metric('nodejs_external_memory_bytes'),
    redisBytes: ofRedis('used_memory'),
  };
}

/** One post of each of these threads, in turn, over eight connections. Returns the processor time of one. */
async function round(threads: { from: number; count: number }, { post, end = false }: { post: number; end?: boolean }) {
  const before = await use();
  let next = threads.from;
  const send = async () => {
    while (next < threads.from + threads.count) {
      const id = next++;
      const text = `post ${post} of thread ${id}, is this what they say it is or not? `.padEnd(140, 'so they say, ');
      const response = await fetch(`${url}/v1/threads/${id}/posts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ posts: [{ id: String(post), text }], end }),
      });
      if (!response.ok) throw new Error(await response.text());
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: 8 }, send));
  const after = await use();
  // Looking costs something, too; it is the same each time and small beside thousands of posts.
  return {
    server: (after.serverMs - before.serverMs) / threads.count,
    redis: (after.redisMs - before.redisMs) / threads.count,
    after,
  };
}

async function measure(): Promise<ThreadCosts> {
  // Code is compiled, and caches are filled.
  const warming = { from: 1e6, count: 1000 };
  for (const post of [0, 1, 2]) await round(warming, { post, end: post === 1 });
  const empty = await use();
  const first = { from: 0, count: remembered };
  const near = [];
  for (let post = 0; post < postsOfThread; post++) near.push(await round(first, { post }));
  const second = { from: remembered, count: others };
  const far = [];
  for (let post = 0; post < postsOfThread; post++) far.push(await round(second, { post }));
  const decision = await round(second, { post: postsOfThread, end: true });
  const later = await round(second, { post: postsOfThread + 1 });
  const nearDecision = await round(first, { post: postsOfThread, end: true });
  const kind = (rounds: readonly { server: number; redis: number }[]) => ({
    server: mean(rounds.map((each) => each.server)),
    redis: mean(rounds.map((each) => each.redis)),
  });
  const open = far[far.length - 1].after;
  const before = near[near.length - 1].after;
  const bytes = ({ now, earlier, threads }: { now: Use; earlier: Use; threads: number }) => ({
    server: (now.serverBytes - earlier.serverBytes) / threads,
    redis: (now.redisBytes - earlier.redisBytes) / threads,
  });
  return {
    sessions: redis === null ? 'memory' : 'redis',
    postsOfThread,
    milliseconds: {
      first: kind([near[0], far[0]]),
      next: kind(near.slice(1)),
      nextReadAgain: kind(far.slice(1)),
      decision: kind([decision, nearDecision]),
      later: kind([later]),
    },
    bytes: {
      // Before and after, the server remembers its place in as many.
      open: bytes({ now: open, earlier: before, threads: others }),
      decided: bytes({ now: nearDecision.after, earlier: empty, threads: remembered + others }),
    },
  };
}

try {
  for (;;) {
    const ready = await fetch(`${url}/v2/health/ready`).catch(() => null);
    if (ready?.ok === true) break;
    if (server.exitCode !== null) throw new Error('the server ended');
    await delay(200);
  }
  const costs = await measure();
  const { milliseconds: taken, bytes } = costs;
  const names = {
    first: 'first post of a thread',
    next: 'next post, 2nd to 8th, where the server remembers the thread',
    nextReadAgain: 'next post, 2nd to 8th, where it does not',
    decision: 'the 9th post, with the decision and its verdict',
    later: 'post after the decision',
  };
  const isRedis = redis !== null;
  const rows = (Object.keys(names) as (keyof typeof names)[]).map((name) => [
    names[name],
    `${taken[name].server.toFixed(2)} ms`,
    isRedis ? `${taken[name].redis.toFixed(3)} ms` : '–',
  ]);
  const memory = ({ server, redis }: { server: number; redis: number }) => {
    const text = `${((isRedis ? redis : server) / 1000).toFixed(1)} kB`;
    return isRedis ? ['–', text] : [text, '–'];
  };
  rows.push(['memory of an open thread of 8 posts', ...memory(bytes.open)]);
  rows.push(['memory of a decided thread', ...memory(bytes.decided)]);
  console.log(
    markdownTable([[`threads in ${isRedis ? 'Redis' : 'memory'}`, 'server', 'Redis'], ...rows], {
      align: ['l', 'r', 'r'],
    }),
  );
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(costs, null, 2)}\n`);
} finally {
  redis?.disconnect();
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
