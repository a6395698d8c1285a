import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runsBelow } from '../../../experiments/run/runs-below.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { writeSweep } from '../sweep/tiny-sweep.ts';
import { earshot, threadLines, tiny, writeExperiment } from './command-line.ts';

/*
 * What variants of an experiment and settings of a sweep have in common: both are members, whose trials are run in one way.
 */

const variants = { paper: {}, wide: { agent: { ...tiny.agent, hidden: 9 } } };

describe('an experiment with variants', () => {
  it('is listed, and divided into shards, the last of which writes the report', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'), { variants });
    const listed = await earshot(['train', 'tiny.yaml', '--dry-run'], { cwd });
    expect(listed.out).toBe('paper/seed-1  paper, seed 1\nwide/seed-1  wide, seed 1\n2 trials\n');
    expect(existsSync(join(cwd, 'runs'))).toBe(false);
    const half = await earshot(['train', 'tiny.yaml', '--shard', '1/2'], { cwd });
    expect([half.code, half.out]).toEqual([0, '']);
    expect(half.errors).toContain('this shard is done; 1 trials of the others are not');
    expect(runsBelow(join(cwd, 'runs/tiny'), 2)).toEqual([join(cwd, 'runs/tiny/wide/seed-1')]);
    const whole = await earshot(['train', 'tiny.yaml', '--shard', '0/2', '--keep', 'results'], { cwd });
    expect(whole.code, whole.errors).toBe(0);
    expect(readFileSync(join(cwd, 'runs/tiny/report.md'), 'utf8')).toContain('| **stop agent: wide** ');
    expect(readdirSync(join(cwd, 'runs/tiny/paper/seed-1'))).not.toContain('checkpoints');
    // All is there: nothing is trained, and no backend is started for it.
    const again = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(again.errors).toMatch(/^tiny: 2\/2 trials\n\nRuns: runs\/tiny /);
  });

  it('leaves no run of other threads where it begins again', async () => {
    const cwd = temporaryFolder({ 'threads.jsonl': threadLines(70) });
    writeExperiment(join(cwd, 'tiny.yaml'), { variants, data: { threads: 'threads.jsonl' } });
    expect((await earshot(['train', 'tiny.yaml'], { cwd })).code).toBe(0);
    const again = ['train', 'tiny.yaml', '--variants', 'wide', '--restart'];
    expect((await earshot(again, { cwd })).code).toBe(0);
    expect(runsBelow(join(cwd, 'runs/tiny'), 2)).toHaveLength(2);
    writeFileSync(join(cwd, 'threads.jsonl'), threadLines(72));
    expect((await earshot(again, { cwd })).code).toBe(0);
    expect(runsBelow(join(cwd, 'runs/tiny'), 2)).toEqual([join(cwd, 'runs/tiny/wide/seed-1')]);
  });
});

describe('a sweep', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'earshot-runner-'));
  beforeAll(async () => {
    writeSweep(join(cwd, 'sweep.yaml'), { space: { 'agent.imitation.alpha': [0.6, 0.7] } });
    const { code, errors } = await earshot(['train', 'sweep.yaml', '--name', 'mine', '--seeds', '3,4'], { cwd });
    expect(code, errors).toBe(0);
  });
  afterAll(() => rmSync(cwd, { recursive: true, force: true }));

  it('takes a name and seeds, and has a folder of seeds for each setting, which is reported and compared', async () => {
    const settings = readdirSync(join(cwd, 'runs/mine')).filter((name) => /^[0-9a-f]{12}$/.test(name));
    expect(settings.map((setting) => readdirSync(join(cwd, 'runs/mine', setting)))).toEqual(
      Array(2).fill(['seed-3', 'seed-4']),
    );
    expect(readFileSync(join(cwd, 'runs/mine/report.md'), 'utf8')).toContain(
      '\nearshot sweep sweep.yaml --name mine --seeds 3,4\n',
    );
    const [first, second] = settings.map((setting) => `runs/mine/${setting}`);
    const compared = await earshot(['compare', first, second], { cwd });
    expect(compared.out, compared.errors).toMatch(/\nAt the stop, \d+ decisions paired, of 2 seeds\n/);
    const { out } = await earshot(['report', first], { cwd });
    expect(out.replaceAll(/\s+/g, ' ')).toContain('seeds: 3, 4');
  });

  it('stands beside runs of no sweep under its name, and they beside it', async () => {
    writeExperiment(join(cwd, 'tiny.yaml'));
    const named = await earshot(['train', 'tiny.yaml', '--name', 'mine'], { cwd });
    expect(named.code).toBe(1);
    expect(named.errors).toContain('runs/mine holds other runs: they are of a sweep. Restore');
    writeExperiment(join(cwd, 'mine.yaml'), { name: 'mine' });
    const beside = await earshot(['train', 'mine.yaml'], { cwd });
    expect(beside.errors.replaceAll('\n', ' ')).toContain('These stand beside them, as mine-2;');
  });

  it('of an earlier version is named, and begun again beside it', async () => {
    const run = 'runs/tiny-sweep/trials/0001';
    const old = temporaryFolder({ 'runs/tiny-sweep/sweep.json': '{}', [`${run}/config.json`]: '{}' });
    writeSweep(join(old, 'sweep.yaml'), { seeds: [1], space: { 'agent.imitation.alpha': [0.6] } });
    const reported = await earshot(['report', 'runs/tiny-sweep'], { cwd: old });
    expect([reported.code, reported.errors]).toEqual([
      1,
      'earshot: runs/tiny-sweep holds a sweep of Earshot 0.2.0 or earlier; run its file again\n',
    ]);
    const beside = await earshot(['sweep', 'sweep.yaml'], { cwd: old });
    expect(beside.errors.replaceAll('\n', ' ')).toContain(
      'holds other runs: they are of a sweep of Earshot 0.2.0 or earlier. These stand beside them, as tiny-sweep-2;',
    );
    expect((await earshot(['sweep', 'sweep.yaml', '--restart'], { cwd: old })).code).toBe(0);
    expect(existsSync(join(old, run))).toBe(false);
  });
});

it('detect refuses two detectors of one name', async () => {
  const file = JSON.stringify({
    detector: { name: 'single-prompt', model: { baseURL: 'http://localhost:9', model: 'm' } },
    task: 'rumor',
  });
  const cwd = temporaryFolder({ 'threads.jsonl': threadLines(4), 'a/x.yaml': file, 'b/x.yaml': file });
  const { errors } = await earshot(['detect', 'threads.jsonl', '--detector', 'a/x.yaml', 'b/x.yaml'], { cwd });
  expect(errors).toBe('earshot: b/x.yaml: another detector is called x, too; give one of the files another name\n');
});
