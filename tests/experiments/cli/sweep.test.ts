import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runsBelow } from '../../../experiments/run/runs-below.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import type { Outcome } from '../../child-output.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { trialsIn, writeSweep } from '../sweep/tiny-sweep.ts';
import { earshot, logged, startProcess, tiny, until } from './command-line.ts';
import { tinySweep } from './tiny.ts';

const resultFiles = ['trials.csv', 'report.md', 'report.json'];

function results(cwd: string, runs: string): Record<string, string> {
  const folder = join(cwd, runs, 'tiny-sweep');
  const texts = resultFiles.map((name) => [name, readFileSync(join(folder, name)).toString('base64')] as const);
  return Object.fromEntries(texts);
}

/** Iterations that all trials together have logged. */
function progressOf(runs: string): number {
  try {
    return runsBelow(join(runs, 'tiny-sweep'), 2).reduce((sum, run) => sum + logged(run), 0);
  } catch {
    return 0;
  }
}

describe('a sweep', () => {
  /** The sweep of `sweep.yaml` alone, which several tests read or copy, and none changes. */
  const whole = mkdtempSync(join(tmpdir(), 'earshot-sweep-'));
  let first: Outcome;
  beforeAll(async () => {
    writeSweep(join(whole, 'sweep.yaml'));
    first = await earshot(['sweep', 'sweep.yaml'], { cwd: whole, page: true });
    expect(first.code, first.errors).toBe(0);
  });
  afterAll(() => rmSync(whole, { recursive: true, force: true }));
  const resultsOfWhole = (name: string) => readFileSync(join(whole, 'runs/tiny-sweep', name));

  it('is listed before anything is made', async () => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'));
    const listed = await earshot(['sweep', 'sweep.yaml', '--dry-run'], { cwd });
    expect(listed.out).toMatch(
      /^[0-9a-f]{12}\/seed-1 {2}alpha=0\.6, seed 1\n.*\n6 trials: 3 settings, 2 seeds each\n$/s,
    );
    const { out } = await earshot(['sweep', 'sweep.yaml', '--dry-run', '--json'], { cwd });
    const [{ trial }, ...others] = JSON.parse(out).trials;
    expect([others.length, listed.out]).toEqual([5, expect.stringContaining(`${trial}  alpha=`)]);
    expect(readdirSync(cwd)).toEqual(['sweep.yaml']);
  });

  it('is not begun, and nothing of it removed, where the queue is none', async () => {
    const cwd = temporaryFolder();
    cpSync(whole, cwd, { recursive: true });
    const words = ['sweep', 'sweep.yaml', '--queue', 'http://me:secret@x', '--restart'];
    const { code, errors } = await earshot(words, { cwd });
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/^earshot: --queue is .*; give an address such as redis:/),
    ]);
    expect(errors).not.toContain('secret');
    expect(results(cwd, 'runs')).toEqual(results(whole, 'runs'));
  });

  it('runs every setting with every seed, and writes one table, a report and pictures; again, it reads them', async () => {
    const cwd = whole;
    expect(first.out.replaceAll(/\s+/g, ' ')).toMatch(
      /^tiny-sweep: No setting is recommended, because with each of 2 seeds the difference between alpha=0\.\d and /,
    );
    expect(Math.max(...first.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    const { out: narrow } = await earshot(['sweep', 'sweep.yaml'], { cwd, columns: 80 });
    expect(Math.max(...narrow.split('\n').map((line) => line.length))).toBeLessThan(80);
    const report = readFileSync(join(cwd, 'runs/tiny-sweep/report.md'), 'utf8');
    expect(report).toContain('6 trials: 3 settings, 2 seeds each');
    expect(report).toMatch(
      /\n\*\*No setting is recommended[\s\S]*## Highest, but not told apart\n\n\*\*alpha=0\.\d\*\* \(`[0-9a-f]{12}`\)/,
    );
    const folder = join(cwd, 'runs/tiny-sweep');
    const [, run] =
      /Its runs: `([0-9a-f]{12}\/seed-1)` \(seed 1\), `[0-9a-f]{12}\/seed-2` \(seed 2\)\./.exec(report) ?? [];
    expect(readdirSync(join(folder, run))).toContain('result.json');

    const rows = trialsIn(folder);
    expect(rows).toHaveLength(6);
    expect(rows.map((row) => [row['agent.imitation.alpha'], row.seed, row.status])).toEqual(
      ['0.6', '0.7', '0.8'].flatMap((alpha) => ['1', '2'].map((seed) => [alpha, seed, 'finished'])),
    );
    expect(Object.keys(rows[0]).join()).toMatch(
      /^trial,member,seed,status,agent\.imitation\.alpha,objective,development\.macroF1,.*,message$/,
    );
    // One detector for each seed, though three settings share each.
    expect(readdirSync(join(cwd, 'runs/cache/detectors'))).toHaveLength(2);
    expect(readFileSync(join(folder, 'report-pictures/front.svg'), 'utf8')).toMatch(/^<svg /);

    expect(first.errors).toMatch(/Page: runs\/tiny-sweep\/report\.html\n$/);
    expect(first.errors).toMatch(/^tiny-sweep: 6 runs \(3 settings\) in this process, /);
    const page = readFileSync(join(folder, 'report.html'), 'utf8');
    expect(page).toMatch(/<h2 id="leader-title">Highest, but not told apart<\/h2>\n<p><b>alpha=0\.\d<\/b>/);
    expect(page.match(/<th scope="row">[0-9a-f]{12}<\/th>/g)).toHaveLength(3);
    expect(page).toContain('<figure id="chart-front">');
    expect(page).not.toMatch(/https?:/);

    const [{ trial }] = rows;
    const written = statSync(join(folder, trial, 'result.json')).mtimeMs;
    const before = results(cwd, 'runs');
    const second = await earshot(['sweep', 'sweep.yaml', '--json'], { cwd });
    expect(second.code, second.errors).toBe(0);
    expect(statSync(join(folder, trial, 'result.json')).mtimeMs).toBe(written);
    expect(results(cwd, 'runs')).toEqual(before);
    expect(JSON.parse(second.out).members).toHaveLength(3);

    // The folder alone is enough to write it again.
    const again = await earshot(['report', 'runs/tiny-sweep', '--html', '--out', 'again.html'], { cwd });
    expect(again.code, again.errors).toBe(0);
    const [original, copy] = [page, readFileSync(join(cwd, 'again.html'), 'utf8')].map((text) =>
      text.replaceAll(/<code>earshot .*?<\/code>/gs, ''),
    );
    expect(copy).toBe(original);
  });

  it('chooses without the test: other decisions there change nothing but the scores that are shown', async () => {
    const cwd = temporaryFolder();
    cpSync(whole, cwd, { recursive: true });
    const read = await earshot(['sweep', 'sweep.yaml', '--json'], { cwd });
    for (const run of runsBelow(join(cwd, 'runs/tiny-sweep'), 2)) {
      const path = join(run, 'decisions.jsonl');
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"prediction":"rumor"', '"prediction":"non-rumor"'));
    }
    const second = await earshot(['sweep', 'sweep.yaml', '--json'], { cwd });
    const [{ leader: before, ...left }, { leader: after, ...right }] = [read, second].map(({ out }) => JSON.parse(out));
    expect(right).toEqual(left);
    expect(after.member).toBe(before.member);
    expect(after.test).not.toEqual(before.test);
  });

  it('names the trials that fail, runs the others, and says so by its exit code', async () => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'), { space: { 'split.demonstrations': [12, 1000] } });
    const swept = await earshot(['sweep', 'sweep.yaml'], { cwd });
    expect(swept.code).toBe(1);
    expect(swept.errors).toMatch(/failed: demonstrations=1000, seed 1: the parts need/);
    expect(swept.errors).toMatch(/2 of 4 runs failed \(demonstrations=1000, seed 1, …\)/);
    const report = readFileSync(join(cwd, 'runs/tiny-sweep/report.md'), 'utf8');
    expect(report).toContain('2 finished, 2 failed');
    expect(report).toMatch(
      /## Failed trials\n\n`[0-9a-f]{12}\/seed-1` \(demonstrations=1000, seed 1\): the parts need/,
    );
    expect(report).toContain('**demonstrations=12**');
  });

  it.each(['/2', '0/', '2/2', '0/2/3', '0.5/2'])('refuses %s as a shard', async (shard) => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'));
    // As `--shard $SLURM_ARRAY_TASK_ID/2` outside of Slurm: every machine would run the first shard.
    const swept = await earshot(['sweep', 'sweep.yaml', '--dry-run', '--shard', shard], { cwd });
    expect(swept).toMatchObject({ code: 1, out: '' });
    expect(swept.errors).toContain(`argument '${shard}' is invalid. Write it as 0/10; shares are counted from 0.`);
  });

  it('is divided into shards, the last of which writes the report', async () => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'));
    const half = await earshot(['sweep', 'sweep.yaml', '--shard', '0/2'], { cwd });
    expect(half.code, half.errors).toBe(0);
    expect([half.out, runsBelow(join(cwd, 'runs/tiny-sweep'), 2).length]).toEqual(['', 3]);
    expect(half.errors).toContain('3 trials of the others are not');
    const second = await earshot(['sweep', 'sweep.yaml', '--shard', '1/2'], { cwd });
    expect(second.code, second.errors).toBe(0);
    expect(readFileSync(join(cwd, 'runs/tiny-sweep/trials.csv'))).toEqual(resultsOfWhole('trials.csv'));
  });

  it('ends with the same bytes after it was killed, with its processes or alone', async () => {
    const [whole, killed] = ['whole', 'killed'].map((name) => join(temporaryFolder(), name));
    for (const cwd of [whole, killed]) {
      mkdirSync(cwd);
      writeSweep(join(cwd, 'sweep.yaml'), {
        experiment: { ...tinySweep.experiment, agent: { ...tiny.agent, iterations: 12 } },
        seeds: [1],
      });
    }
    const words = ['sweep', 'sweep.yaml'];
    const undisturbed = await earshot(words, { cwd: whole });
    expect(undisturbed.code, undisturbed.errors).toBe(0);
    for (const [moment, alone] of [
      [4, true],
      [20, false],
    ] as const) {
      const victim = startProcess([...words, '--jobs', '2'], { cwd: killed });
      await until(() => progressOf(join(killed, 'runs')) >= moment);
      victim.signal('SIGKILL', { alone });
      expect((await victim.outcome).code).toBeNull();
    }
    const resumed = await earshot(words, { cwd: killed });
    expect(resumed.code, resumed.errors).toBe(0);
    expect(resumed.errors).toMatch(/^tiny-sweep: (\d of )?3 runs \(3 settings\) in this process, /);
    expect(results(killed, 'runs')).toEqual(results(whole, 'runs'));
  }, 300_000);

  it('stands beside the runs of threads that were changed, also where others were swept in between', async () => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'), { seeds: [1], space: { 'agent.imitation.alpha': [0.6] } });
    const synthesize = (threads: number, out: string) =>
      earshot(['data', 'synth', '--threads', String(threads), '--out', out], { cwd });
    const sweep = (data: string) => earshot(['sweep', 'sweep.yaml', '--data', data], { cwd });
    await synthesize(60, 'first.jsonl');
    await synthesize(62, 'second.jsonl');
    expect((await sweep('first.jsonl')).code).toBe(0);
    await synthesize(61, 'first.jsonl');
    expect((await sweep('second.jsonl')).code).toBe(0);
    const { errors } = await sweep('first.jsonl');
    expect(errors.replaceAll('\n', ' ')).toContain(
      'runs/tiny-sweep holds other runs: first.jsonl was changed since. These stand beside them, as tiny-sweep-2;',
    );
    expect(runsBelow(join(cwd, 'runs/tiny-sweep'), 2)).toHaveLength(2);
    expect(runsBelow(join(cwd, 'runs/tiny-sweep-2'), 2)).toHaveLength(1);
  });

  it('is reported, with nothing recommended, where the objective has no value', async () => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'), {
      seeds: [1],
      space: { 'agent.imitation.alpha': [0.6] },
      objective: { maximise: 'macroF1 - 0.01 * delayHours' },
    });
    await earshot(['data', 'synth', '--threads', '60', '--out', 'threads.jsonl'], { cwd });
    const path = join(cwd, 'threads.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/"time":"[^"]*"/g, '"time":null'));
    const swept = await earshot(['sweep', 'sweep.yaml', '--data', 'threads.jsonl'], { cwd });
    expect(swept.code, swept.errors).toBe(0);
    expect(swept.out).toMatch(/^tiny-sweep: Nothing is recommended: macroF1 - 0\.01 \* delayHours has no\s+value/);
    const report = readFileSync(join(cwd, 'runs/tiny-sweep/report.md'), 'utf8');
    expect(report).toContain('1 trial: 1 setting, 1 seed each');
    expect(report).toContain(
      'Nothing is recommended: macroF1 - 0.01 * delayHours has no value with every seed of any setting',
    );
    const [row] = trialsIn(join(cwd, 'runs/tiny-sweep'));
    expect(row).toMatchObject({ status: 'finished', objective: '', 'development.delayHours': '' });
  });
});

describe('a sweep of an earlier version', () => {
  it.each([
    [{ name: 'halving' }, "method.name: Invalid discriminator value. Expected 'grid' | 'random' (found \"halving\")"],
    [{ name: 'random', trials: 4, firstRung: 2 }, 'method.firstRung: removed in 0.3.0; leave the option out'],
  ])('is refused with what was removed, or what there is: %j', async (method, said) => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'), { method });
    const { code, errors } = await earshot(['sweep', 'sweep.yaml', '--dry-run'], { cwd });
    expect([code, errors.trimEnd().split('\n')]).toEqual([
      1,
      ['earshot: sweep.yaml is not a valid sweep:', expect.stringContaining(said)],
    ]);
  });

  it('goes on in its folder with another method; before, its report says what is wrong', async () => {
    const cwd = temporaryFolder();
    const own = { seeds: [1], space: { 'agent.imitation.alpha': [0.6, 0.7] } };
    writeSweep(join(cwd, 'sweep.yaml'), own);
    expect((await earshot(['sweep', 'sweep.yaml'], { cwd })).code).toBe(0);
    const manifest = join(cwd, 'runs/tiny-sweep/experiment.json');
    const older = readFileSync(manifest, 'utf8').replace('"name": "grid"', '"name": "sobol", "trials": 2');
    writeFileSync(manifest, older);
    const reported = await earshot(['report', 'runs/tiny-sweep'], { cwd });
    expect(reported.code).toBe(1);
    expect(reported.errors).toMatch(
      /^earshot: runs\/tiny-sweep\/experiment\.json holds a sweep that this version cannot read:\n {2}sweep\.method\.name: .*'grid' \| 'random' \(found "sobol"\)\n$/,
    );
    expect((await earshot(['sweep', 'sweep.yaml'], { cwd })).out).toContain('2 trials: 2 finished.');
    expect((await earshot(['report', 'runs/tiny-sweep'], { cwd })).code).toBe(0);
  });
});

describe('a space that is too large', () => {
  const range = (steps: number) => ({ from: 0.001, to: 0.1, steps });
  const refused = async (parts: Record<string, unknown>) => {
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'), parts);
    const { code, errors } = await earshot(['sweep', 'sweep.yaml', '--dry-run'], { cwd });
    return `${code} ${errors}`;
  };

  it('is counted, and not made', async () => {
    const grid = (first: number, second: number) => ({
      space: { 'agent.imitation.ppo.learningRate': range(first), 'agent.imitation.ppo.clip': range(second) },
    });
    expect(await refused(grid(100_000, 100_000))).toMatch(
      /^1 earshot: space: the grid has 100,000 × 100,000 = 10,000,000,000 combinations, .* at most 100,000; give fewer/,
    );
    expect(await refused(grid(500, 500))).toContain('500 × 500 = 250,000 combinations');
    expect(await refused(grid(1e9, 2))).toContain('1,000,000,000 × 2 = 2,000,000,000 combinations');
    // Few enough to look at, too many to train.
    expect(await refused({ ...grid(100, 51), seeds: [1, 2] })).toContain(
      'tiny-sweep: 5,100 settings with 2 seeds each are 10,200 trials, and a sweep has at most 10,000; give fewer',
    );
    expect(await refused({ method: { name: 'random', trials: 1e9 } })).toContain('method.trials: Too big');
  });

  it('is not too large where its constraints leave few', async () => {
    const cwd = temporaryFolder();
    const space = { 'agent.imitation.ppo.learningRate': range(200), 'agent.imitation.ppo.clip': range(200) };
    writeSweep(join(cwd, 'sweep.yaml'), { space, constraints: ['clip < 0.0015', 'learningRate < 0.0015'] });
    const listed = await earshot(['sweep', 'sweep.yaml', '--dry-run'], { cwd });
    expect(listed.out).toContain('\n8 trials: 4 settings, 2 seeds each\n');
  });
});

it('keeps of finished trials what it is told to: the scores stay, and policies where they are wanted', async () => {
  const cwd = temporaryFolder();
  writeSweep(join(cwd, 'sweep.yaml'), { seeds: [1], space: { 'agent.imitation.alpha': [0.6, 0.7] } });
  const swept = async (keep: string) => {
    const { code, errors } = await earshot(['sweep', 'sweep.yaml', '--keep', keep, '--runs', keep], { cwd });
    expect(code, errors).toBe(0);
    const [trial] = runsBelow(join(cwd, keep, 'tiny-sweep'), 2);
    return { trial: relative(cwd, trial), files: readdirSync(trial).sort() };
  };
  const all = await swept('all');
  const policies = await swept('policies');
  const kept = await swept('results');
  const scores = ['config.json', 'decisions.jsonl', 'development-decisions.jsonl', 'development-judged.jsonl'];
  expect(kept.files).toEqual([...scores, 'judged.jsonl', 'parts.json', 'result.json', 'run.json']);
  expect(policies.files).toEqual([...kept.files, 'cloning.safetensors', 'policy'].sort());
  const training = ['checkpoints', 'metrics.jsonl', 'stop-probabilities.jsonl'];
  expect(all.files).toEqual(expect.arrayContaining([...policies.files, ...training]));

  // The same tables, from nothing but what was kept.
  for (const keep of ['policies', 'results']) {
    expect((await earshot(['sweep', 'sweep.yaml', '--keep', keep, '--runs', keep], { cwd })).code).toBe(0);
    const [whole, reduced] = ['all', keep].map((runs) => results(cwd, runs));
    expect(reduced['trials.csv']).toBe(whole['trials.csv']);
  }
  // Both settings share the judgements and parts of the seed.
  const judged = runsBelow(join(cwd, 'results/tiny-sweep'), 2).map((run) => statSync(join(run, 'judged.jsonl')));
  expect(new Set(judged.map(({ ino }) => ino)).size).toBe(1);
  expect((await earshot(['report', kept.trial], { cwd })).code).toBe(0);

  const threads = synthesizeThreads({ threads: 5, seed: 8 });
  writeFileSync(join(cwd, 'new.jsonl'), threads.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  const decided = async (_runs: string, trial: string) => earshot(['decide', 'new.jsonl', '--policy', trial], { cwd });
  expect((await decided('policies', policies.trial)).out).toBe((await decided('all', all.trial)).out);
  expect((await decided('results', kept.trial)).errors).toContain('unless a sweep keeps results alone');
});
