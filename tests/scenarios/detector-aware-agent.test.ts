import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DetectorOutput, loadPolicy } from '../../checkpoints/bundle/policy.ts';
import { decisionSchema } from '../../experiments/stop-agent/decisions.ts';
import { openStopAgentRun } from '../../experiments/stop-agent/open-run.ts';
import { testThreadsOfRun } from '../../experiments/stop-agent/parts.ts';
import { queryAndDecide } from '../../experiments/stop-agent/query-and-decide.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { lengthsUntil } from '../../experts/prefix-schedule.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import { workContext } from '../../src/work-context.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';

/** An agent that decides at every post and queries at some; one that decides where it queries; one whose schedule was chosen. */
const variants = ['every-post', 'queried', 'chosen'] as const;
const runOf = (variant: string) => `runs/tiny/${variant}/seed-1`;
const fresh = synthesizeThreads({ threads: 12, seed: 2 }).map((thread) => ({ ...thread, rumor: null, veracity: null }));
const parsed = (text: string) => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

let cwd: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-asking-'));
  writeFileSync(join(cwd, 'fresh.jsonl'), fresh.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  const state = { posts: 'none', observesDetector: true };
  const doubling = { name: 'geometric', start: 2, factor: 2 };
  writeExperiment(join(cwd, 'tiny.yaml'), {
    backend: 'onnx',
    agent: {
      algorithm: 'exact-return',
      iterations: 30,
      hidden: 8,
      task: { learningRate: 0.02, delayCost: 0.3, callCost: 0.01 },
    },
    variants: {
      'every-post': { state: { ...state, posts: 'sum', querySchedule: doubling } },
      queried: { state: { ...state, actsAt: 'queried-posts', querySchedule: doubling } },
      chosen: {
        state: { ...state, actsAt: 'queried-posts', querySchedule: { name: 'best', starts: [1, 3], factors: [2] } },
      },
    },
  });
  const trained = await earshot(['train', 'tiny.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

async function inFolder<T>(work: () => Promise<T>): Promise<T> {
  const before = process.cwd();
  process.chdir(cwd);
  try {
    return await work();
  } finally {
    process.chdir(before);
  }
}

describe.each(variants)('a detector-aware agent (%s)', (variant) => {
  it('calls a counting detector as often as its decisions and its table say, and decides the same', async () => {
    await inFolder(async () => {
      const context = workContext();
      const opened = await openStopAgentRun({ run: runOf(variant), runs: 'runs', context });
      const { run, schedule, experiment } = opened;
      if (schedule === null) throw new Error('the agent has no schedule');
      const detector = await LocalDetector.load({ path: join(run.path, 'detector.json') });
      const reported = new Map(
        parsed(readFileSync(join(run.path, 'decisions.jsonl'), 'utf8'))
          .map((line) => decisionSchema.parse(line))
          .flatMap((own) => (own.system === 'stop agent' ? [[own.threadId, own] as const] : [])),
      );
      const threads = await testThreadsOfRun(run, { data: null, context });
      expect(threads).toHaveLength(16);
      let total = 0;
      for (const thread of threads) {
        const asked: number[] = [];
        const judge = (length: number) => {
          asked.push(length);
          return detector.judge(prefixOf(thread, length));
        };
        const decision = await queryAndDecide(thread, { ...opened, schedule, threshold: 0.5, judge });
        const stop = decision.stopStep + 1;
        expect(asked).toEqual(lengthsUntil(stop, { schedule, maxPosts: experiment.maxJudgedPosts }));
        expect(reported.get(thread.id)).toMatchObject({ calls: asked.length, postsUsed: stop });
        expect(decision.calls).toBe(asked.length);
        total += asked.length;
      }
      const report = await earshot(['report', 'tiny.yaml', '--json'], { cwd });
      const results: { variant: string; trials: { systems: unknown[] }[] }[] = JSON.parse(report.out);
      const [own] = results.filter((result) => result.variant === variant);
      expect(own.trials[0].systems[0]).toMatchObject({ name: 'stop agent', callsPerThread: total / threads.length });
    });
  });

  it('is decided by `decide` and by its bundle alike, calls included', async () => {
    const exported = await earshot(['export', runOf(variant), '--out', variant], { cwd });
    expect(exported.code, exported.errors).toBe(0);
    const byRun = parsed((await earshot(['decide', 'fresh.jsonl', '--run', runOf(variant)], { cwd })).out);
    const byBundle = parsed((await earshot(['decide', 'fresh.jsonl', '--bundle', variant], { cwd })).out);
    expect(byRun).toHaveLength(fresh.length);
    for (const [index, { stopProbability, verdict, ...decision }] of byRun.entries()) {
      expect(byBundle[index]).toMatchObject({ ...decision, verdict: { label: verdict.label } });
      expect(stopProbability).toHaveLength(decision.postsUsed);
      for (const [post, probability] of stopProbability.entries())
        expect(Math.abs(byBundle[index].stopProbability[post] - probability)).toBeLessThan(1e-5);
      // An agent that acts at 2, 4, 8, … posts cannot stop in between.
      const between = stopProbability.filter((_: number, post: number) => ![2, 4, 8].includes(post + 1));
      if (variant === 'queried') expect(Math.max(0, ...between)).toBe(0);
    }
  });
});

it.each(variants)('post by post a bundle decides as at once (%s)', async (variant) => {
  const policy = await loadPolicy({ read: (name: string) => readFile(join(cwd, variant, name)) });
  for (const thread of fresh) {
    const growing = policy.open();
    const probabilities: number[] = [];
    for (const { text } of thread.posts) {
      probabilities.push(...(await growing.read([text])));
      if (probabilities[probabilities.length - 1] > 0.5) break;
    }
    expect(probabilities).toEqual([...(await policy.decide(thread)).stopProbability]);
  }
});

it('a bundle without its detector asks the one it is given, with what it has seen', async () => {
  const read = (name: string) => readFile(join(cwd, 'queried', name));
  const detector = await LocalDetector.load({ path: join(cwd, runOf('queried'), 'detector.json') });
  const own = await loadPolicy({ read });
  for (const thread of fresh) {
    const seen: number[] = [];
    const judge = async (posts: readonly { text: string }[]): Promise<DetectorOutput> => {
      seen.push(posts.length);
      return detector.judge(prefixOf(thread, posts.length));
    };
    const given = await loadPolicy({ read, judge });
    const decision = await given.decide(thread);
    expect(decision).toMatchObject({ stopStep: (await own.decide(thread)).stopStep, calls: seen.length });
  }
});

it('an agent may not ask about prefixes that its detector does not judge', async () => {
  writeExperiment(join(cwd, 'gap.yaml'), {
    detector: { file: 'any.yaml', schedule: { name: 'geometric', factor: 2 } },
    state: { observesDetector: true, querySchedule: { name: 'geometric', factor: 1.5 } },
  });
  const { code, errors } = await earshot(['train', 'gap.yaml'], { cwd });
  expect(code).toBe(1);
  expect(errors).toContain('state.querySchedule queries 3 posts, which this schedule leaves out');
});

it('a run whose chosen schedule is gone says so', async () => {
  const folder = join(cwd, 'runs/tiny/without');
  cpSync(join(cwd, runOf('chosen')), folder, { recursive: true });
  rmSync(join(folder, 'schedule.json'));
  const { code, errors } = await earshot(['decide', 'fresh.jsonl', '--run', 'runs/tiny/without'], { cwd });
  expect(code).toBe(1);
  expect(errors).toContain('schedule.json');
});

/** Settings that are at odds with each other. */
it.each<[string, Record<string, unknown>, string]>([
  ['nothing to see', { state: { posts: 'none' } }, 'the agent would see nothing'],
  ['a schedule without judgements', { state: { actsAt: 'queried-posts' } }, 'set observesDetector: true'],
  ['no development part', { evaluation: { part: 'development' } }, 'set split.development'],
])('refuses %s', async (_, parts, message) => {
  writeExperiment(join(cwd, 'bad.yaml'), parts);
  const { code, errors } = await earshot(['train', 'bad.yaml'], { cwd });
  expect(code).toBe(1);
  expect(errors).toContain(message);
});

it('decides the development part alone where that is asked for', async () => {
  writeExperiment(join(cwd, 'development.yaml'), {
    name: 'development',
    split: { ...tiny.split, development: 10, test: 6 },
    state: { posts: 'none', observesDetector: true },
    agent: { ...tiny.agent, algorithm: 'exact-return' },
    evaluation: { ...tiny.evaluation, part: 'development' },
  });
  const { code, out, errors } = await earshot(['train', 'development.yaml'], { cwd });
  expect(code, errors).toBe(0);
  expect(out).toMatch(/^development: 10 development threads, 1 seed\n/);
  const run = join(cwd, 'runs/development/agent/seed-1');
  const { parts } = JSON.parse(readFileSync(join(run, 'parts.json'), 'utf8'));
  const decided = new Set(
    parsed(readFileSync(join(run, 'development-judged.jsonl'), 'utf8')).map(({ threadId }) => threadId),
  );
  expect(decided).toEqual(new Set(parts.development.map(({ id }: Thread) => id)));
  expect(parts.test).toHaveLength(6);
});
