import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
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
    /Of the \d+ calibration threads \d+ raise an alert before their end, and \d+ of these would be withdrawn after all posts\./,
  );
  const few = await earshot(
    ['calibrate', 'policy', '--threads', 'fresh.jsonl', '--loss', 'false-alert', '--risk-level', '0.0001'],
    { cwd },
  );
  expect([few.code, few.errors]).toEqual([1, expect.stringContaining('are needed even where none loses')]);
});

/** A settled agent that alerts, with threads to calibrate on. */
function alerting(cwd: string, parts: Record<string, unknown> = {}) {
  writeExperiment(join(cwd, 'tiny.yaml'), {
    alerts: ['rumor'],
    data: { synthetic: { threads: 400, seed: 1 } },
    split: { detector: 40, demonstrations: 12, environment: 12, calibration: 300, test: 36 },
    agent: { ...tiny.agent, algorithm: 'settled', iterations: 20 },
    state: { posts: 'none', observesDetector: true },
    evaluation: { ...tiny.evaluation, firstPosts: [1, 3], hours: [1], confidences: [0.7] },
    ...parts,
  });
}
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ');

describe('a guarantee of a policy that alerts', () => {
  it('is about alerts unless told otherwise, and the charts are, too', async () => {
    const cwd = temporaryFolder();
    alerting(cwd, { guarantee: { level: 0.3 } });
    const { code, out, errors } = await earshot(['train', 'tiny.yaml'], { cwd, page: true });
    expect(code, errors).toBe(0);
    expect(oneLine(out)).toMatch(
      /^tiny: Reads \d+% of the posts; with 90% confidence at most 30% of early alerts would be withdrawn after all posts\. The agent/,
    );
    const folder = join(cwd, 'runs/tiny/agent/seed-1');
    const guarantee = JSON.parse(readFileSync(join(folder, 'guarantee.json'), 'utf8'));
    expect(guarantee).toMatchObject({ loss: 'withdrawn', level: 0.3, threads: 300, alerts: expect.any(Number) });
    const page = readFileSync(join(cwd, 'runs/tiny/report.html'), 'utf8');
    const charts = [...page.matchAll(/<figure id="chart-([^"]*)">\s*<h3>([^<]*)<\/h3>[\s\S]*?<\/figure>/g)];
    expect(charts.map(([, name, title]) => [name, title])).toEqual(
      expect.arrayContaining([
        ['front', 'F latency of alerts against delay'],
        ['front-queries', 'F latency of alerts against queries'],
      ]),
    );
    for (const [chart, name] of charts) expect([name, /macro-F1/i.test(chart)]).toEqual([name, false]);
    const report = readFileSync(join(cwd, 'runs/tiny/report.md'), 'utf8');
    expect(report).not.toContain('Against rules with the same budget');
    expect(report).toMatch(/## Every system\n\n\| system +\| +ERDE 5 \|/);

    // The same default for a policy that exists.
    const fresh = synthesizeThreads({ threads: 400, seed: 31 });
    writeFileSync(join(cwd, 'fresh.jsonl'), linesOf(fresh));
    const again = await earshot(
      ['calibrate', folder, '--threads', 'fresh.jsonl', '--quiet', '0', '--risk-level', '0.4', '--json'],
      { cwd },
    );
    expect([again.code, JSON.parse(again.out)]).toMatchObject([0, { loss: 'withdrawn', level: 0.4 }]);
    // Audits count early alerts alone, and no thread that the guarantee was found on.
    const later = synthesizeThreads({ threads: 400, seed: 32 });
    writeFileSync(join(cwd, 'later.jsonl'), linesOf(later));
    await earshot(['decide', 'later.jsonl', '--policy', folder, '--audit', '1', '--include-trained'], { cwd });
    const monitor = await earshot(['monitor', folder, 'audits.jsonl'], { cwd });
    expect(oneLine(monitor.out)).toMatch(
      /\d+ audits: \d+ early alerts would be withdrawn, .*raised no alert before their end/,
    );
  });

  it('that is about predictions says so, and what becomes of alerts', async () => {
    const cwd = temporaryFolder();
    alerting(cwd, { guarantee: { level: 0.2, loss: 'disagreement' } });
    const { code, out, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(code, errors).toBe(0);
    const path = join(cwd, 'runs/tiny/agent/seed-1/guarantee.json');
    const { alerts, withdrawn, low, high } = JSON.parse(readFileSync(path, 'utf8')).earlyAlerts;
    expect(low).toBeLessThan(withdrawn / alerts);
    expect(high).toBeGreaterThan(withdrawn / alerts);
    const percent = (share: number) => `${Math.round(100 * share)}%`;
    expect(oneLine(out)).toContain(
      `at most 20% of predictions would change. This is about predictions, not about alerts: ${percent(withdrawn / alerts)} [${percent(low)}, ${percent(high)}] of early alerts would be withdrawn after all posts.`,
    );
  });

  it('that cannot be shown leaves a report without it, with what can be shown', async () => {
    const cwd = temporaryFolder();
    alerting(cwd, { guarantee: { level: 0.01 } });
    // A config with too few threads even if none loses is refused before anything is trained.
    const few = await earshot(['train', 'tiny.yaml', '--set', 'split.calibration=200'], { cwd });
    expect([few.code, few.errors]).toEqual([1, expect.stringContaining('or a larger guarantee.level')]);
    const { code, out, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(code, errors).toBe(0);
    const text = oneLine(out);
    expect(text).toMatch(/^tiny: No guarantee could be shown\. .* is recommended: on 36 test threads, it raises/);
    const [, level] =
      /No guarantee could be shown for runs\/tiny\/agent\/seed-1: 300 threads cannot show .*guarantee\.level: (\d\.\d+) can be shown\./.exec(
        text,
      ) ?? [];
    expect(existsSync(join(cwd, 'runs/tiny/agent/seed-1/guarantee.json'))).toBe(false);
    expect(readFileSync(join(cwd, 'runs/tiny/report.md'), 'utf8')).toContain(
      '**Warning:** No guarantee could be shown for',
    );
    const shown = await earshot(['train', 'tiny.yaml', '--name', 'shown', '--set', `guarantee.level=${level}`], {
      cwd,
    });
    expect(oneLine(shown.out)).toContain(`of early alerts would be withdrawn after all posts`);
    expect(oneLine(shown.out)).not.toContain('no guarantee');
  });
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
