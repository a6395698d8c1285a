import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadPolicy } from '../../checkpoints/policy/load-policy.ts';
import { readStops } from '../../experiments/stop-agent/decided-files.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import type { Thread } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { smallServer } from '../experiments/serve/small-server.ts';
import { runPython } from './python.ts';

/*
 * One policy, however it is reached: what the test of a run says, `decide` on the run and on its bundle, a server that reads post by
 * post, JavaScript and Python decide the same of 400 threads of two sets, by every algorithm and every kind of rule.
 */

const student = { student: true, studentOptions: tiny.detector };
const observing = { observesDetector: true, querySchedule: { name: 'geometric', start: 1, factor: 2 } };
const exactPolicyGradient = {
  ...tiny.agent,
  algorithm: 'exact-policy-gradient',
  iterations: 20,
  task: { delayCost: 0.3, learningRate: 0.02 },
};
const variants = {
  imitation: { agent: { ...tiny.agent, iterations: 12 } },
  cloning: { agent: { ...tiny.agent, algorithm: 'behavior-cloning', iterations: 12 } },
  'exact-policy-gradient': { agent: exactPolicyGradient, state: { posts: 'sqrt', ...student } },
  settled: { agent: { ...tiny.agent, algorithm: 'settled', iterations: 20 }, state: { posts: 'none', ...observing } },
  deadline: {
    agent: exactPolicyGradient,
    state: { posts: 'none', ...observing, ...student },
    deadline: { hours: 0.5, posts: 9 },
  },
  alerts: {
    agent: exactPolicyGradient,
    state: { posts: 'none', ...student },
    deadline: { posts: 20 },
    alerts: ['rumor'],
  },
  'settled-alerts': {
    agent: { ...tiny.agent, algorithm: 'settled', iterations: 20 },
    state: { posts: 'none', ...observing },
    alerts: ['rumor'],
  },
};
/** Systems of the last variant that are tried as rules. */
const rules = [
  'first post',
  'first 3 posts',
  'all posts',
  'after 1 h',
  'after 0.2 h',
  'confidence ≥ 0.7',
  'confidence ≥ 0.8, asked at 1, 2, 4, 8, 16, …',
  'confidence ≥ 0.7, asked when the agent asks',
  'student ≥ 0.7',
  'behaviour cloning',
];
const cases = [
  ...Object.keys(variants).map((variant) => [variant, 'stop agent'] as const),
  ...rules.map((system) => ['exact-policy-gradient', system] as const),
  ['deadline', 'first 3 posts'] as const,
  ['deadline', 'after 1 h'] as const,
  ['settled', 'confidence ≥ 0.7, asked when the agent asks'] as const,
  ['alerts', 'first 3 posts'] as const,
  ['alerts', 'after 1 h'] as const,
  ['alerts', 'student ≥ 0.7'] as const,
  ['alerts', 'confidence ≥ 0.8, asked at 1, 2, 4, 8, 16, …'] as const,
].filter(
  ([variant, system]) =>
    variant !== 'exact-policy-gradient' || system !== 'confidence ≥ 0.7, asked when the agent asks',
);

const runOf = (variant: string) => `runs/tiny/${variant}/seed-1`;
const parsed = (out: string) => out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
const linesOf = (threads: readonly object[]) => threads.map((thread) => `${JSON.stringify(thread)}\n`).join('');

/** Threads with gaps, equal times and a claim that is younger than its replies, beside plain ones. */
function oddTimes(thread: Thread, index: number): Thread {
  const random = Random.seeded({ seed: index, purpose: 'odd times' });
  const posts = thread.posts.map((post, place) => {
    if (index % 4 === 1) return { ...post, time: null };
    if (index % 4 === 2) return { ...post, time: random.uniform() < 0.3 ? null : post.time };
    if (index % 4 === 3)
      return { ...post, time: place === 0 ? thread.posts[1].time : thread.posts[place - (place % 2)].time };
    return post;
  });
  return { ...thread, posts };
}

let cwd: string;
const fresh = [
  ...synthesizeThreads({ threads: 200, seed: 21 }),
  ...synthesizeThreads({ threads: 200, seed: 22, maxPosts: 60, typicalPosts: 30 }).map(oddTimes),
].map((thread) => ({ ...thread, id: `fresh-${thread.id}` }));

async function succeed(...words: string[]): Promise<string> {
  const { code, out, errors } = await earshot(words, { cwd });
  expect(code, errors).toBe(0);
  return out;
}

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-policies-'));
  writeFileSync(join(cwd, 'fresh.jsonl'), linesOf(fresh));
  writeExperiment(join(cwd, 'tiny.yaml'), {
    backend: 'onnx',
    evaluation: { ...tiny.evaluation, firstPosts: [1, 3], hours: [0.2, 1], confidences: [0.7, 0.8] },
    variants,
  });
  await succeed('train', 'tiny.yaml');
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe.each(cases)('%s: %s', (variant, system) => {
  const bundle = `${variant}-${system.replace(/[^a-z0-9]+/g, '-')}`;

  it('decides the same wherever it is', async () => {
    await succeed('export', runOf(variant), '--system', system, '--out', bundle);
    const decided = parsed(await succeed('decide', 'fresh.jsonl', '--policy', bundle));
    expect(decided).toHaveLength(400);
    if (system === 'stop agent')
      expect(parsed(await succeed('decide', 'fresh.jsonl', '--policy', runOf(variant)))).toEqual(decided);

    const policy = await loadPolicy({ read: (name) => readFile(join(cwd, bundle, name)) });
    const python = await runPython([join(cwd, bundle, 'earshot_policy.py')], { stdin: linesOf(fresh) });
    expect(python.code, python.errors).toBe(0);
    const byPython = parsed(python.out);
    // The clock of the posts: as a thread is replayed, it is as late as its next post.
    let now = new Date(0);
    const server = await smallServer({ bundles: { small: join(cwd, bundle) }, now: () => now });
    for (let from = 0; from < fresh.length; from += 50) {
      const whole = fresh.slice(from, from + 50).map(({ id, posts }) => ({ id, posts }));
      const { status, body } = await server.decide({ threads: whole });
      expect(status, JSON.stringify(body)).toBe(200);
      expect(body.decisions).toEqual(decided.slice(from, from + 50));
    }
    for (const [index, thread] of fresh.entries()) {
      const {
        threadId,
        scores,
        prediction,
        outOfDistribution,
        postsLeftOut: _,
        earliness: __,
        posts: ___,
        ...decision
      } = decided[index];
      expect(threadId).toBe(thread.id);
      const { postsUsed, why, queries, hours, trainedOn } = decision;
      const inNode = await policy.decide(thread);
      expect(inNode).toMatchObject({
        postsUsed,
        why,
        queries,
        hours,
        scores,
        prediction,
        outOfDistribution,
        trainedOn,
      });

      const ofPython = byPython[index];
      expect(ofPython).toMatchObject({ threadId, ...decision, prediction: { label: prediction.label } });
      expect(ofPython.scores).toHaveLength(scores.length);
      for (const [place, score] of scores.entries())
        expect(Math.abs(ofPython.scores[place] - score)).toBeLessThanOrEqual(1e-5);

      // The server dates posts without a time by its own clock, which a replay does not have.
      if (thread.posts.some(({ time }) => time === null)) continue;
      let view = { decision: 'continue' };
      for (const post of thread.posts) {
        if (view.decision === 'stop') break;
        now = new Date(post.time ?? 0);
        view = (await server.post(thread.id, { posts: [post] })).body;
      }
      if (view.decision === 'continue') view = (await server.post(thread.id, { posts: [], end: true })).body;
      expect(view).toMatchObject({ ...decision, prediction, outOfDistribution });
    }
  });

  it('decides as the test of its run did', async () => {
    if (system !== 'stop agent' && system !== 'behaviour cloning') return;
    const { parts } = JSON.parse(readFileSync(join(cwd, runOf(variant), 'parts.json'), 'utf8'));
    const ids = new Set(parts.test.map(({ id }: { id: string }) => id));
    const tested = synthesizeThreads(tiny.data.synthetic).filter(({ id }) => ids.has(id));
    writeFileSync(join(cwd, 'tested.jsonl'), linesOf(tested));
    const decided = new Map(
      parsed(await succeed('decide', 'tested.jsonl', '--policy', bundle)).map((own) => [own.threadId, own]),
    );
    const { labels } = JSON.parse(readFileSync(join(cwd, bundle, 'manifest.json'), 'utf8')).task;
    const reported = readStops(join(cwd, runOf(variant)), { labels, part: 'test' }).filter(
      (own) => own.system === system,
    );
    expect(reported).toHaveLength(tested.length);
    for (const { threadId, postsUsed, hours, queries, predicted } of reported)
      expect(decided.get(threadId)).toMatchObject({
        postsUsed,
        hours,
        queries,
        prediction: { label: labels[predicted] },
      });
  });
});
