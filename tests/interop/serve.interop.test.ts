import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problemSchema, type ThreadView, threadViewSchema } from '../../experiments/serve/schemas.ts';
import { policyOfBundle } from '../../experiments/stop-agent/bundle-folder.ts';
import { type DecidedThread, threadDecider } from '../../experiments/stop-agent/decide.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import type { Thread } from '../../src/data/thread.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { interopPython, runPython } from './python.ts';
import { startRedis } from './redis-server.ts';
import { freePort, startEarshot } from './serving.ts';

const json = { 'content-type': 'application/json' };
const requirements = join(import.meta.dirname, 'requirements-serving.txt');

let cwd: string;
let bundle: string;
let threads: Thread[];
let expected: Map<string, DecidedThread>;
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
  const decide = threadDecider(await policyOfBundle(bundle));
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
    expect([refused.status, problemSchema.parse(await refused.json()).error]).toEqual([
      503,
      expect.stringContaining('(Redis) does not answer'),
    ]);
    expect((await fetch(`${server.address}/v2/health/ready`)).status).toBe(503);
    expect((await fetch(`${server.address}/metrics`)).status).toBe(200);
    expect(server.output()).not.toContain('a secret text');
  });
});

describe('clients of others', () => {
  it('tritonclient gets the answers of the bundle, as JSON and as bytes', async () => {
    const server = await running(startEarshot([bundle]));
    const script = `
import json, sys
import numpy as np
import tritonclient.http as triton
sys.path.insert(0, sys.argv[2])
client = triton.InferenceServerClient(sys.argv[1].removeprefix("http://"))
name = "policy"
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready(name)
metadata = client.get_model_metadata(name)
assert client.get_server_metadata()["name"] == "earshot"
columns = metadata["inputs"][0]["shape"][1]
states = np.random.default_rng(1).normal(size=(7, columns)).astype(np.float32)
found = {}
for binary in (True, False):
    state = triton.InferInput("state", list(states.shape), "FP32")
    state.set_data_from_numpy(states, binary_data=binary)
    outputs = [triton.InferRequestedOutput(each, binary_data=binary) for each in ("stop_probability", "action")]
    for wanted in (outputs, None):
        result = client.infer(name, [state], outputs=wanted, model_version=metadata["versions"][0] if binary else "")
        found[f"{binary} {wanted is None}"] = [result.as_numpy("stop_probability").tolist(), result.as_numpy("action").tolist()]
client.load_model(name)
try:
    state = triton.InferInput("state", [1, columns + 1], "FP32")
    state.set_data_from_numpy(np.zeros((1, columns + 1), np.float32))
    client.infer(name, [state])
    raise SystemExit("a wrong shape was taken")
except triton.InferenceServerException as error:
    refused = str(error)
try:
    client.get_model_metadata("other")
    raise SystemExit("an unknown model was found")
except triton.InferenceServerException as error:
    unknown = str(error)
print(json.dumps({"states": states.tolist(), "found": found, "refused": refused, "unknown": unknown}))
`;
    const python = await runPython(['-c', script, server.address, bundle], { requirements });
    expect(python.code, python.errors).toBe(0);
    const { states, found, refused, unknown } = JSON.parse(python.out);
    const probabilities = (await policyOfBundle(bundle)).definition.score(Float32Array.from(states.flat()));
    const actions = [...probabilities].map((probability) => Number(probability > 0.5));
    for (const [stopProbability, action] of Object.values<number[][]>(found)) {
      expect([...Float32Array.from(stopProbability)]).toEqual([...probabilities]);
      expect(action).toEqual(actions);
    }
    expect(refused).toContain('states of this model have 32 numbers, and the shape is [1, 33]');
    expect(unknown).toContain('there is no model of this name; served are policy');
  });

  it('schemathesis finds no crash and no answer that the OpenAPI document does not declare', async () => {
    const server = await running(startEarshot([bundle]));
    const st = join(interopPython(requirements), '../schemathesis');
    const config = join(cwd, 'schemathesis.toml');
    // That a shape fits its data, and columns a model, is nothing that a schema can say: such requests get a 400.
    const inference =
      '[[operations]]\ninclude-path-regex = "/infer$"\nchecks.positive_data_acceptance.enabled = false\n';
    writeFileSync(config, `[parameters]\n"path.model" = "policy"\n[generation]\nmax-examples = 40\n${inference}`);
    const words = ['--config-file', config, 'run', `${server.address}/openapi.json`, '--seed', '1', '--no-color'];
    const { status, stdout, stderr } = spawnSync(st, words, { encoding: 'utf8', cwd });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
    const [, selected, total, tested] = /(\d+) selected \/ (\d+) total[\s\S]*Tested: +(\d+)\n/.exec(stdout) ?? [];
    expect(Number(total)).toBeGreaterThan(15);
    expect([selected, tested]).toEqual([total, total]);
    expect(stdout).not.toContain('Failures:');
    expect(server.output()).not.toContain('defect');
  });
});
