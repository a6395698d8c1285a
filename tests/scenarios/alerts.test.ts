import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readTrialResult } from '../../experiments/stop-agent/result.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { smallServer } from '../experiments/serve/small-server.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

vi.setConfig({ testTimeout: 180_000 });

const linesOf = (threads: readonly object[]) => threads.map((thread) => `${JSON.stringify(thread)}\n`).join('');

it('stops early with alerts alone, measures them, guarantees them and serves them', async () => {
  const fresh = synthesizeThreads({ threads: 500, seed: 31 });
  const cwd = temporaryFolder({ 'fresh.jsonl': linesOf(fresh) });
  const run = async (...args: string[]) => {
    const { code, out, errors } = await earshot(args, { cwd });
    expect([args, code, code === 0 ? '' : errors]).toEqual([args, 0, '']);
    return out;
  };
  writeExperiment(join(cwd, 'tiny.yaml'), {
    alerts: ['rumor'],
    agent: { ...tiny.agent, algorithm: 'settled', iterations: 20 },
    state: { posts: 'none', observesDetector: true },
    evaluation: { ...tiny.evaluation, firstPosts: [1, 3], hours: [1], confidences: [0.7] },
  });
  const trained = await run('train', 'tiny.yaml');
  expect(trained).toContain('alerts per 1,000 threads');
  expect(trained).toMatch(/system\s+F latency\s+ERDE 50\s+precision\s+recall\s+queries/);
  const folder = 'runs/tiny/agent/seed-1';
  const { decisions } = readTrialResult(RunDirectory.open(join(cwd, folder)), { withIntervals: false });
  const systems = new Set<string>();
  for (const { system, predicted, postsUsed, posts } of decisions.flatMap((own) => own.decisions)) {
    if (system === 'oracle' || postsUsed === posts || system.startsWith('after')) continue;
    systems.add(system);
    expect([system, predicted]).toEqual([system, 1]);
  }
  expect([...systems]).toEqual(expect.arrayContaining(['stop agent', 'first post', 'first 3 posts']));

  await run('export', folder, '--out', 'policy');
  expect(JSON.parse(readFileSync(join(cwd, 'policy/manifest.json'), 'utf8'))).toMatchObject({
    task: { alerts: ['rumor'] },
    rule: expect.stringContaining('and whose prediction is rumor'),
  });
  const decided = (await run('decide', 'fresh.jsonl', '--policy', 'policy'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(decided).toHaveLength(500);
  for (const { prediction, alert, why } of decided) {
    expect(alert).toBe(prediction.label === 'rumor');
    if (why === 'threshold') expect(alert).toBe(true);
  }
  const server = await smallServer({ bundles: { small: join(cwd, 'policy') } });
  const threads = fresh.slice(0, 40).map(({ id, posts }) => ({ id, posts }));
  const { body } = await server.decide({ threads }, '?alerts=true');
  const raising = decided.slice(0, 40).filter(({ alert }) => alert);
  expect(body.decisions.map(({ threadId }: { threadId: string }) => threadId)).toEqual(
    raising.map(({ threadId }) => threadId),
  );

  const calibrated = await run(
    'calibrate',
    'policy',
    '--threads',
    'fresh.jsonl',
    '--loss',
    'withdrawn',
    '--risk-level',
    '0.6',
  );
  expect(calibrated).toContain('of early alerts would be withdrawn after all posts');
  expect(calibrated).toMatch(
    /Of the \d+ calibration threads \d+ raise an alert before their end, and \d+ of these lose\./,
  );
  const few = await earshot(
    ['calibrate', 'policy', '--threads', 'fresh.jsonl', '--loss', 'false-alert', '--risk-level', '0.0001'],
    { cwd },
  );
  expect([few.code, few.errors]).toEqual([1, expect.stringContaining('are needed even where none loses')]);
});

it('refuses alerts that are no labels, and guarantees about alerts without any', async () => {
  const cwd = temporaryFolder();
  const refused = async (parts: Record<string, unknown>) => {
    writeExperiment(join(cwd, 'tiny.yaml'), parts);
    const { code, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(code).toBe(1);
    return errors;
  };
  expect(await refused({ alerts: ['rumour'] })).toContain(
    'alerts: "rumour" is no label of the task rumor: non-rumor, rumor',
  );
  expect(await refused({ alerts: ['rumor', 'non-rumor'] })).toContain('every label raises an alert');
  expect(await refused({ guarantee: { loss: 'withdrawn' } })).toContain('no label raises one; name them in alerts');
});
