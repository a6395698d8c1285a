import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ThreadDecision,
  type ThreadView,
  threadDecider,
  threadViewSchema,
} from '../../experiments/stop-agent/decide.ts';
import { openPolicy } from '../../experiments/stop-agent/policy/policy-folder.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import type { Thread } from '../../src/data/thread.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { interopPython } from './python.ts';
import { startRedis } from './redis-server.ts';
import { freePort, startEarshot } from './serving.ts';

const json = { 'content-type': 'application/json' };
const requirements = join(import.meta.dirname, 'requirements-serving.txt');

let cwd: string;
let bundle: string;
let threads: Thread[];
let expected: Map<string, ThreadDecision>;
interface Killable {
  kill(signal: NodeJS.Signals): Promise<void>;
}
const programs: Killable[] = [];

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-serve-'));
  writeExperiment(join(cwd, 'tiny.yaml'), {
    data: { synthetic: { threads: 160, seed: 1 } },
    split: { detector: 20, demonstrations: 12, environment: 12, test: 116 },
    agent: { ...tiny.agent, iterations: 20 },
  });
  await succeed('train', 'tiny.yaml');
  await succeed('export', 'runs/tiny/agent/seed-1', '--out', 'policy');
  bundle = join(cwd, 'policy');
  const { parts } = JSON.parse(readFileSync(join(cwd, 'runs/tiny/agent/seed-1/parts.json'), 'utf8'));
  const tested = new Set(parts.test.map(({ id }: { id: string }) => id));
  threads = synthesizeThreads({ threads: 160, seed: 1 }).filter(({ id }) => tested.has(id));
  const decide = threadDecider(await openPolicy(bundle));
  expected = new Map();
  for (const thread of threads) expected.set(thread.id, await decide(thread));
  // Every test thread, and threads that go on for a while, or killing a server would interrupt nothing.
  expect(threads).toHaveLength(116);
  expect([...expected.values()].filter(({ postsUsed }) => postsUsed > 3).length).toBeGreaterThan(10);
});
afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGKILL')));
  rmSync(cwd, { recursive: true, force: true });
});

async function succeed(...words: string[]): Promise<void> {
  const { code, errors } = await earshot(words, { cwd });
  expect(code, errors).toBe(0);
}

async function running<Program extends Killable>(start: Promise<Program>): Promise<Program> {
  const program = await start;
  programs.push(program);
  return program;
}

/** Sends one post, or says that no other will come, to the first server that answers. */
async function send(addresses: readonly string[], id: string, body: unknown): Promise<ThreadView> {
  for (let attempt = 0; ; attempt++) {
    const address = addresses[attempt % addresses.length];
    try {
      const url = `${address}/v1/threads/${encodeURIComponent(id)}/posts`;
      const response = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) });
      expect(response.status, await response.clone().text()).toBe(200);
      return threadViewSchema.parse(await response.json());
    } catch (error) {
      // Connections to a server that was killed.
      if (!(error instanceof TypeError) || attempt > 20) throw error;
    }
  }
}

interface Progress {
  readonly thread: Thread;
  sent: number;
  view: ThreadView | null;
}

/** Sends the next post of every undecided thread. */
async function round(progress: readonly Progress[], addresses: readonly string[]): Promise<void> {
  for (const each of progress) {
    if (each.view?.decision === 'stop') continue;
    const { thread, sent } = each;
    const post = thread.posts[sent];
    each.view = await send(addresses, thread.id, post === undefined ? { posts: [], end: true } : { posts: [post] });
    each.sent++;
  }
}

const begun = (): Progress[] => threads.map((thread) => ({ thread, sent: 0, view: null }));
const isOpen = ({ view }: Progress) => view?.decision !== 'stop';

function expectDecisions(progress: readonly Progress[]): void {
  for (const { thread, view } of progress) {
    const { threadId, post, time, hours, stopped, why, postsUsed, prediction, queries } = expected.get(thread.id)!;
    expect(view).toMatchObject({
      threadId,
      decision: 'stop',
      post,
      time,
      hours,
      stopped,
      why,
      postsUsed,
      prediction,
      queries,
    });
  }
}

describe('threads post by post', () => {
  it('are decided as `decide` decides them', async () => {
    const server = await running(startEarshot([bundle]));
    const progress = begun();
    while (progress.some(isOpen)) await round(progress, [server.address]);
    expectDecisions(progress);
    for (const { thread } of progress) {
      const response = await fetch(`${server.address}/v1/threads/${thread.id}`);
      const view = threadViewSchema.parse(await response.json());
      const found = view.posts.map(({ score }) => score);
      expect(found).toEqual(expected.get(thread.id)?.scores);
    }
  });

  it('go on after `kill -9`, when they are kept in Redis', async () => {
    const redis = await running(startRedis());
    const port = await freePort();
    const start = () => running(startEarshot([bundle, '--sessions', redis.address], { port }));
    let server = await start();
    const progress = begun();
    for (let count = 0; progress.some(isOpen); count++) {
      await round(progress, [server.address]);
      if (count > 3) continue;
      expect(progress.some(isOpen)).toBe(true);
      await server.kill('SIGKILL');
      server = await start();
    }
    expectDecisions(progress);
  });

  it('go on with the other of two servers behind one Redis when one is killed', async () => {
    const redis = await running(startRedis());
    const words = [bundle, '--sessions', redis.address];
    const [first, second] = await Promise.all([running(startEarshot(words)), running(startEarshot(words))]);
    const progress = begun();
    for (let count = 0; progress.some(isOpen); count++) {
      // In turns, so that each reads what the other was sent.
      const order = count % 2 === 0 ? [first, second] : [second, first];
      const posts = round(
        progress,
        order.map(({ address }) => address),
      );
      if (count === 3) await first.kill('SIGKILL');
      await posts;
    }
    expectDecisions(progress);
  });

  it('take the same post at two servers at the same time as one', async () => {
    const redis = await running(startRedis());
    const words = [bundle, '--sessions', redis.address];
    const [first, second] = await Promise.all([running(startEarshot(words)), running(startEarshot(words))]);
    const thread = threads.find(({ id }) => (expected.get(id)?.postsUsed ?? 0) > 3)!;
    const both = [first, second].map(({ address }) => address);
    for (const post of thread.posts) {
      const [one, other] = await Promise.all(both.map((address) => send([address], thread.id, { posts: [post] })));
      expect(one.posts).toEqual(other.posts);
    }
    const end = await send([first.address], thread.id, { posts: [], end: true });
    expectDecisions([{ thread, sent: 0, view: end }]);
  });

  it('are answered with 503 while Redis is away, and then go on', async () => {
    const redis = await startRedis();
    const server = await running(startEarshot([bundle, '--sessions', redis.address]));
    await redis.kill();
    const url = `${server.address}/v1/threads/t/posts`;
    const body = JSON.stringify({ posts: [{ id: 'a', text: 'a secret text' }] });
    const refused = await fetch(url, { method: 'POST', headers: json, body });
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('(Redis) does not answer')]);
    expect((await fetch(`${server.address}/v2/health/ready`)).status).toBe(503);
    expect((await fetch(`${server.address}/metrics`)).status).toBe(200);
    expect(server.output()).not.toContain('a secret text');
  });
});

describe('clients of others', () => {
  it('schemathesis finds no crash and no answer that the OpenAPI document does not declare', async () => {
    const server = await running(startEarshot([bundle]));
    const st = join(interopPython(requirements), '../schemathesis');
    const config = join(cwd, 'schemathesis.toml');
    writeFileSync(config, '[parameters]\n"path.model" = "policy"\n[generation]\nmax-examples = 40\n');
    const words = ['--config-file', config, 'run', `${server.address}/openapi.json`, '--seed', '1', '--no-color'];
    const { status, stdout, stderr } = spawnSync(st, words, { encoding: 'utf8', cwd });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
    const [, selected, total, tested] = /(\d+) selected \/ (\d+) total[\s\S]*Tested: +(\d+)\n/.exec(stdout) ?? [];
    expect(Number(total)).toBeGreaterThan(9);
    expect([selected, tested]).toEqual([total, total]);
    expect(stdout).not.toContain('Failures:');
    expect(server.output()).not.toContain('defect');
  });
});
