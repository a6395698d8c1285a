import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { stopAgentKind } from '../../experiments/kinds/stop-agent-kind.ts';
import { evaluateRun } from '../../experiments/stop-agent/evaluate-run.ts';
import { stopMetrics } from '../../experiments/stop-agent/metrics.ts';
import { readTrialResult, trialJson } from '../../experiments/stop-agent/result.ts';
import { veracityTask } from '../../src/data/task.ts';
import { type Thread, threadSchema } from '../../src/data/thread.ts';
import { workContext } from '../../src/work-context.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { makeThread, temporaryFolder } from '../src/data/fixtures.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const { labels } = veracityTask;
const words = ['weather report', 'confirmed official', 'fake hoax', 'nobody knows'];

/** Threads of four veracities, as many of each, whose replies tell which. */
function threads(count: number, prefix: string): Thread[] {
  return Array.from({ length: count }, (_, index) => {
    const thread = makeThread(`${prefix}${index}`, { posts: 5, rumor: null });
    return threadSchema.parse({
      ...thread,
      veracity: labels[index % 4],
      posts: thread.posts.map((post, place) => ({ ...post, text: place === 0 ? 'a claim' : words[index % 4] })),
    });
  });
}

const lines = (of: readonly Thread[]) => of.map((thread) => `${JSON.stringify(thread)}\n`).join('');

const settings = {
  name: 'four',
  task: 'veracity',
  split: { detector: 32, demonstrations: 24, environment: 16, test: 24 },
  variants: { paper: {}, student: { state: { student: true, studentOptions: tiny.detector } } },
};

let cwd: string;
const runOf = (variant: string) => join(cwd, `runs/four/${variant}/seed-1`);

async function train(parts: Record<string, unknown>): Promise<string> {
  writeExperiment(join(cwd, 'four.yaml'), { ...settings, data: { threads: join(cwd, 'four.jsonl') }, ...parts });
  const { code, errors } = await earshot(['train', 'four.yaml'], { cwd });
  if (code !== 0) throw new Error(errors);
  return readFileSync(join(cwd, 'runs/four/report.md'), 'utf8');
}

describe('an experiment whose task has four classes', () => {
  it('trains, tests, reports, compares and is evaluated', async () => {
    cwd = temporaryFolder({ 'four.jsonl': lines(threads(96, 't')), 'other.jsonl': lines(threads(16, 'o')) });
    const report = await train({});
    expect(report).toContain('threads: detector 32, demonstrations 24, environment 16, test 24 ');
    for (const row of ['**stop agent: paper**', '**stop agent: student**', 'all posts', 'oracle'])
      expect(report).toContain(`| ${row} `);

    const { systems } = readTrialResult(RunDirectory.open(runOf('paper')), { withIntervals: false });
    const all = systems.find(({ name }) => name === 'all posts');
    // A reply tells each class, so that whoever reads one knows it.
    expect(all?.values.macroF1).toBe(1);
    expect(all?.f1ByLabel).toEqual(Object.fromEntries(labels.map((label) => [label, 1])));
    const first = systems.find(({ name }) => name === 'first post');
    // All claims are alike: one class is right, and the mean is over four.
    expect(first?.values.macroF1).toBeCloseTo(0.4 / 4, 10);
    const golds = readFileSync(join(runOf('paper'), 'decisions.jsonl'), 'utf8').match(/"gold":"[^"]+"/g);
    expect(new Set(golds).size).toBe(4);

    const evaluated = await evaluateRun({
      run: runOf('student'),
      data: join(cwd, 'other.jsonl'),
      runs: join(cwd, 'runs'),
      skipInvalid: false,
      includeTrained: false,
      context: workContext(),
    });
    expect(evaluated.threads).toBe(16);
    expect(Object.keys(evaluated.systems[0].f1ByLabel)).toEqual(labels);

    const system = 'stop agent';
    const both = [
      { folder: runOf('paper'), system },
      { folder: runOf('student'), system },
    ] as const;
    const [compared] = stopAgentKind.compare(both, { seed: 1 });
    expect(compared.items).toBe(24);
    expect(compared.metrics.map(({ name }) => name)).toEqual(['macroF1', 'er', 'queriesPerThread']);

    // Neither costs nor labels that raise an alert were given.
    const isUnknown = (name: string) => /^(expectedCost|erde|latency|alert|medianAlert)/.test(name);
    for (const { title, name, isShown = true } of stopMetrics)
      if (isShown) expect(report.includes(` ${title} `)).toBe(!isUnknown(name));
    const json = JSON.stringify(trialJson(readTrialResult(RunDirectory.open(runOf('paper')), { withIntervals: true })));
    for (const { name, isResampled = true } of stopMetrics) {
      expect(json).toContain(`"${name}":`);
      expect(json.includes(`"${name}Interval":`)).toBe(isResampled && !isUnknown(name));
    }
  });

  it('refuses a detector of another task, and threads without its labels', async () => {
    const model = { name: 'none', baseURL: 'http://127.0.0.1:9', model: 'tiny' };
    cwd = temporaryFolder({ 'four.jsonl': lines(threads(96, 't')) });
    writeFileSync(
      join(cwd, 'rumor.yaml'),
      JSON.stringify({ detector: { name: 'single-prompt', model }, task: 'rumor' }),
    );
    await expect(train({ variants: {}, detector: { file: join(cwd, 'rumor.yaml') } })).rejects.toThrow(
      /rumor\.yaml judges the task rumor, whose labels are non-rumor, rumor; an experiment with task: veracity needs the labels non-rumor, true, false, unverified/,
    );
    await expect(train({ variants: {}, task: 'rumor' })).rejects.toThrow(
      'none of the 96 threads has a label (rumor: true or false)',
    );
    await expect(train({ variants: {}, task: 'stance' })).rejects.toThrow(
      /no thread of .* has a label of that name; there are rumor, veracity/,
    );
  });
});
