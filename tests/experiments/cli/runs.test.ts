import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { writeSweep } from '../sweep/tiny-sweep.ts';
import { earshot, tiny, writeExperiment } from './command-line.ts';

function run(cwd: string, path: string, { isFinished }: { isFinished: boolean }): void {
  mkdirSync(join(cwd, path), { recursive: true });
  writeFileSync(join(cwd, path, 'config.json'), '{}');
  if (isFinished) writeFileSync(join(cwd, path, 'result.json'), '{}');
}

function folder(): string {
  const cwd = temporaryFolder();
  run(cwd, 'runs/first/agent/seed-1', { isFinished: true });
  run(cwd, 'runs/first/agent/seed-2', { isFinished: false });
  run(cwd, 'runs/swept/0001/seed-1', { isFinished: true });
  run(cwd, 'runs/new/agent/seed-1', { isFinished: false });
  mkdirSync(join(cwd, 'runs/cache'));
  const conclusion = 'The agent is recommended.';
  const recommended = { variant: 'agent', run: 'runs/first/agent/seed-1' };
  writeFileSync(join(cwd, 'runs/first/report.json'), JSON.stringify({ conclusion, recommended, results: [] }));
  writeFileSync(
    join(cwd, 'runs/swept/report.json'),
    JSON.stringify({ conclusion: 'No setting is recommended.', recommended: null }),
  );
  return cwd;
}

describe('runs', () => {
  it('lists what was trained, with conclusions and what to go on with', async () => {
    const { code, out } = await earshot(['runs'], { cwd: folder() });
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      'first: 1 run finished, 1 not finished',
      '  The agent is recommended.',
      '  Go on with runs/first/agent/seed-1',
      'new: 1 not finished',
      '  no report yet; `earshot report` writes the report of finished runs',
      'swept: 1 run finished',
      '  No setting is recommended.',
      '',
    ]);
  });

  it('gives the same as JSON', async () => {
    const { out } = await earshot(['runs', '--json'], { cwd: folder() });
    expect(JSON.parse(out)[0]).toEqual({
      name: 'first',
      folder: 'runs/first',
      finished: 1,
      failed: 0,
      unfinished: 1,
      failure: null,
      conclusion: 'The agent is recommended.',
      recommended: 'runs/first/agent/seed-1',
    });
  });

  it('tells failed runs from those that were cut off, and why the first failed, until they are trained', async () => {
    const cwd = temporaryFolder();
    const rate = (learningRate: number) => ({ imitation: { ...tiny.agent.imitation, ppo: { learningRate } } });
    const write = (learningRate: number) =>
      writeExperiment(join(cwd, 'tiny.yaml'), { seeds: [1, 2], agent: { ...tiny.agent, ...rate(learningRate) } });
    write(1e30);
    expect((await earshot(['train', 'tiny.yaml'], { cwd })).code).toBe(1);
    const { out } = await earshot(['runs'], { cwd });
    expect(out).toMatch(/^tiny: 2 failed\n {2}Failed: the training diverged: /);
    write(1e-4);
    expect((await earshot(['train', 'tiny.yaml', '--restart'], { cwd })).code).toBe(0);
    expect((await earshot(['runs'], { cwd })).out).toMatch(/^tiny: 2 runs finished\n/);
    expect((await earshot(['runs', '--json'], { cwd })).out).toContain('"failure": null');

    // Trials that failed before there was a run.
    writeSweep(join(cwd, 'sweep.yaml'), { seeds: [1], space: { 'split.demonstrations': [12, 1000] } });
    expect((await earshot(['sweep', 'sweep.yaml'], { cwd })).code).toBe(1);
    expect((await earshot(['runs'], { cwd })).out).toMatch(
      /\ntiny-sweep: 1 run finished, 1 failed\n {2}Failed: the parts need/,
    );
    expect((await earshot(['sweep', 'sweep.yaml'], { cwd })).errors).toContain('1 of 2 runs failed');
  });

  it('names the run to go on with where it lies now, and none that is gone', async () => {
    const cwd = folder();
    renameSync(join(cwd, 'runs'), join(cwd, 'moved'));
    expect((await earshot(['runs', 'moved'], { cwd })).out).toContain('\n  Go on with moved/first/agent/seed-1\n');
    rmSync(join(cwd, 'moved/first/agent/seed-1'), { recursive: true });
    expect((await earshot(['runs', 'moved'], { cwd })).out).not.toContain('Go on with');
  });

  it('says where there is nothing', async () => {
    const { code, errors } = await earshot(['runs', 'nowhere'], { cwd: folder() });
    expect([code, errors]).toEqual([1, expect.stringContaining('there is no nowhere')]);
  });
});

it('train says of threads, tables and detector files what makes an experiment of them', async () => {
  const detector = { detector: { name: 's2mad' }, task: 'rumor' };
  const cwd = temporaryFolder({ 'threads.jsonl': '{}', 'posts.csv': 'a', 's2mad.yaml': detector });
  expect((await earshot(['train', 'threads.jsonl'], { cwd })).errors).toContain(
    '`earshot init threads.jsonl` asks what you want',
  );
  expect((await earshot(['train', 'posts.csv'], { cwd })).errors).toContain(
    '`earshot data import csv posts.csv --out threads.jsonl`',
  );
  expect((await earshot(['train', 's2mad.yaml'], { cwd })).errors).toContain(
    's2mad.yaml is a detector file, and an experiment file is needed: name it in one as detector.file, or test it',
  );
});
