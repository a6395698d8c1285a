import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DetectorOutput, loadPolicy } from '../../checkpoints/policy/load-policy.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readParts } from '../../experiments/run/parts-file.ts';
import { readStops } from '../../experiments/stop-agent/decided-files.ts';
import { experimentSchema } from '../../experiments/stop-agent/experiment.ts';
import { loadItems, openData } from '../../experiments/stop-agent/parts.ts';
import { openPolicy } from '../../experiments/stop-agent/policy/policy-folder.ts';
import { resultOfRun } from '../../experiments/stop-agent/result.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { lengthsUntil } from '../../experts/prefix-schedule.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { type Prefix, prefixOf, type Thread } from '../../src/data/thread.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';

/** An agent that decides at every post and queries at some; and one that decides where it queries. */
const variants = ['every-post', 'queried'] as const;
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
      algorithm: 'exact-policy-gradient',
      iterations: 30,
      hidden: 8,
      task: { learningRate: 0.02, delayCost: 0.3, queryCost: 0.01 },
    },
    variants: {
      'every-post': { state: { ...state, posts: 'sum', querySchedule: doubling } },
      queried: { state: { ...state, actsAt: 'queried-posts', querySchedule: doubling } },
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
  it('queries a counting detector as often as its decisions and its table say, and decides the same', async () => {
    await inFolder(async () => {
      const run = RunDirectory.open(runOf(variant));
      const experiment = run.readConfig(experimentSchema);
      const { schedule } = resultOfRun.read(run);
      if (schedule === null) throw new Error('the agent has no schedule');
      const detector = await LocalDetector.load({ path: join(run.path, 'policy/detector.json') });
      const reported = new Map(
        readStops(run.path, { labels: detector.labels, part: 'test' }).flatMap((own) =>
          own.system === 'stop agent' ? [[own.threadId, own] as const] : [],
        ),
      );
      const { present: threads } = await loadItems(readParts(run).test, await openData(experiment, () => {}));
      expect(threads).toHaveLength(16);
      let asked: number[] = [];
      const judge = {
        ...(await openedJudge(detector)),
        judge: (prefix: Prefix) => {
          asked.push(prefix.posts.length);
          return detector.judge(prefix);
        },
      };
      const policy = await openPolicy(runOf(variant), { judge });
      let total = 0;
      for (const thread of threads) {
        asked = [];
        const { postsUsed, queries } = await policy.decide(thread);
        expect(asked).toEqual(lengthsUntil(postsUsed, { schedule, maxPosts: experiment.maxJudgedPosts }));
        expect(reported.get(thread.id)).toMatchObject({ queries: asked.length, postsUsed });
        expect(queries).toBe(asked.length);
        total += asked.length;
      }
      const report = await earshot(['report', 'tiny.yaml', '--json'], { cwd });
      const results: { variant: string; trials: { systems: unknown[] }[] }[] = JSON.parse(report.out);
      const [own] = results.filter((result) => result.variant === variant);
      expect(own.trials[0].systems[0]).toMatchObject({ name: 'stop agent', queriesPerThread: total / threads.length });
    });
  });

  it('is decided by `decide` and by its bundle alike, queries included', async () => {
    const exported = await earshot(['export', runOf(variant), '--out', variant], { cwd });
    expect(exported.code, exported.errors).toBe(0);
    const byRun = parsed((await earshot(['decide', 'fresh.jsonl', '--policy', runOf(variant)], { cwd })).out);
    const byBundle = parsed((await earshot(['decide', 'fresh.jsonl', '--policy', variant], { cwd })).out);
    expect(byRun).toHaveLength(fresh.length);
    expect(byBundle).toEqual(byRun);
    for (const { scores, postsUsed } of byRun) {
      expect(scores).toHaveLength(postsUsed);
      // An agent that acts at 2, 4, 8, … posts cannot stop in between.
      const between = scores.filter((_: number, post: number) => ![2, 4, 8].includes(post + 1));
      if (variant === 'queried') expect(Math.max(0, ...between)).toBe(0);
    }
  });
});

async function openedJudge({ labels }: LocalDetector) {
  return { name: 'counting', labels, usage: () => [], close: async () => {} };
}

it('a bundle without its detector asks the one it is given, with what it has seen', async () => {
  const read = (name: string) => readFile(join(cwd, 'queried', name));
  const detector = await LocalDetector.load({ path: join(cwd, runOf('queried'), 'policy/detector.json') });
  const own = await loadPolicy({ read });
  for (const thread of fresh) {
    const seen: number[] = [];
    const judge = async (posts: readonly { text: string }[]): Promise<DetectorOutput> => {
      seen.push(posts.length);
      return detector.judge(prefixOf(thread, posts.length));
    };
    const given = await loadPolicy({ read, judge });
    const decision = await given.decide(thread);
    expect(decision).toMatchObject({ postsUsed: (await own.decide(thread)).postsUsed, queries: seen.length });
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
    agent: { ...tiny.agent, algorithm: 'exact-policy-gradient' },
    evaluation: { ...tiny.evaluation, part: 'development' },
  });
  const { code, out, errors } = await earshot(['train', 'development.yaml'], { cwd });
  expect(code, errors).toBe(0);
  expect(out.replaceAll(/\s+/g, ' ')).toMatch(/^development: .* on 10 development threads, /);
  const run = join(cwd, 'runs/development/agent/seed-1');
  const { parts } = JSON.parse(readFileSync(join(run, 'parts.json'), 'utf8'));
  const decided = new Set(
    parsed(readFileSync(join(run, 'development-judged.jsonl'), 'utf8')).map(({ threadId }) => threadId),
  );
  expect(decided).toEqual(new Set(parts.development.map(({ id }: Thread) => id)));
  expect(parts.test).toHaveLength(6);
});
