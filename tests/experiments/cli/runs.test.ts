import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

function run(cwd: string, path: string, { isFinished }: { isFinished: boolean }): void {
  mkdirSync(join(cwd, path), { recursive: true });
  writeFileSync(join(cwd, path, 'config.json'), '{}');
  if (isFinished) writeFileSync(join(cwd, path, 'result.json'), '{}');
}

function folder(): string {
  const cwd = temporaryFolder();
  run(cwd, 'runs/first/agent/seed-1', { isFinished: true });
  run(cwd, 'runs/first/agent/seed-2', { isFinished: false });
  run(cwd, 'runs/swept/trials/0001', { isFinished: true });
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
      unfinished: 1,
      conclusion: 'The agent is recommended.',
      recommended: 'runs/first/agent/seed-1',
    });
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
