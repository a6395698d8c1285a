import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const config = { kind: 'stop-agent', ppo: { learningRate: 3e-4, clip: 0.1 }, hidden: [64, 64], note: undefined };
const facts = {
  seed: 7,
  backend: 'wasm',
  device: 'cpu, 1 thread',
  hashes: { data: 'aa', annotations: 'bb' },
  startedAt: '2025-11-21T10:00:00.000Z',
};

const fresh = () => join(temporaryFolder(), 'runs', 'a');

describe('a run directory', () => {
  it('records config, versions, device, hashes and seed', () => {
    const path = fresh();
    RunDirectory.create(path, { config, facts });
    expect(readdirSync(path).sort()).toEqual(['checkpoints', 'config.json', 'run.json']);
    expect(JSON.parse(readFileSync(join(path, 'config.json'), 'utf8'))).toEqual({ ...config, note: undefined });
    const record = RunDirectory.open(path).readRecord();
    expect(record).toMatchObject({ ...facts, formatVersion: 1, node: process.version, resumed: [] });
    expect(record.earshot).toMatch(/^\d+\.\d+\.\d+/);
    expect(record.packages).toMatchObject({ '@tensorflow/tfjs-core': expect.stringMatching(/^\d/) });
    if (record.git !== null) expect(record.git.commit).toMatch(/^[0-9a-f]{40}$/);
  });

  it('takes the time itself where the caller gives none', () => {
    const { startedAt: _, ...timeless } = facts;
    const before = Date.now();
    const { startedAt } = RunDirectory.create(fresh(), { config, facts: timeless }).readRecord();
    expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(startedAt)).toBeLessThanOrEqual(Date.now());
  });

  it('is finished once it has a result, and not before', () => {
    const run = RunDirectory.create(fresh(), { config, facts });
    expect(run.isFinished()).toBe(false);
    expect(() => run.readResult()).toThrow(/has no result\.json: the run is not finished; start it again/);
    run.writeResult({ macroF1: 0.8, hours: null });
    expect(run.isFinished()).toBe(true);
    expect(run.readResult()).toEqual({ macroF1: 0.8, hours: null });
    expect(run.readResult(z.object({ macroF1: z.number() })).macroF1).toBe(0.8);
    expect(() => run.readResult(z.object({ hours: z.number() }))).toThrow(
      /result\.json was made by another version of Earshot.*\(hours: .*expected number/,
    );
    expect(() => run.writeResult({ macroF1: Number.NaN })).toThrow(/result\.json\.macroF1 is NaN/);
    expect(run.readResult()).toEqual({ macroF1: 0.8, hours: null });
  });

  it('finds and prunes checkpoints by step, not by name', () => {
    const run = RunDirectory.create(fresh(), { config, facts });
    expect(run.latestCheckpoint()).toBeNull();
    expect(() => run.trainedCheckpoint()).toThrow('has no checkpoint yet; train it first');
    for (const step of [9, 100, 20, 123_456_789]) writeFileSync(run.checkpointPath(step), '');
    writeFileSync(join(run.path, 'checkpoints', '.step-00000300.safetensors.1-1.tmp'), 'cut off');
    expect(run.checkpointSteps()).toEqual([9, 20, 100, 123_456_789]);
    expect(run.latestCheckpoint()).toEqual({ step: 123_456_789, path: run.checkpointPath(123_456_789) });
    run.pruneCheckpoints({ keepLast: 2 });
    expect(run.checkpointSteps()).toEqual([100, 123_456_789]);
    run.pruneCheckpoints({ keepLast: 5 });
    expect(run.checkpointSteps()).toEqual([100, 123_456_789]);
  });
});

describe('creating a run where one stands', () => {
  it('goes on with the same run, notes it and clears what a killed process was writing', () => {
    const path = fresh();
    const first = RunDirectory.create(path, { config, facts });
    writeFileSync(first.checkpointPath(10), '');
    const cutOff = join(path, 'checkpoints', '.step-00000020.safetensors.1-1.tmp');
    writeFileSync(cutOff, '');
    const reordered = { hidden: [64, 64], ppo: { clip: 0.1, learningRate: 3e-4 }, kind: 'stop-agent' };
    const resumedAt = '2025-11-22T10:00:00.000Z';
    const run = RunDirectory.create(path, {
      config: reordered,
      facts: { ...facts, backend: 'cpu', startedAt: resumedAt },
    });
    expect(run.latestCheckpoint()?.step).toBe(10);
    expect(existsSync(cutOff)).toBe(false);
    const record = run.readRecord();
    expect(record).toMatchObject({ backend: 'wasm', startedAt: facts.startedAt });
    expect(record.resumed).toMatchObject([{ backend: 'cpu', startedAt: resumedAt, node: process.version }]);
  });

  it('leaves a finished one as it is', () => {
    const path = fresh();
    RunDirectory.create(path, { config, facts }).writeResult({ done: true });
    const before = readFileSync(join(path, 'run.json'), 'utf8');
    expect(RunDirectory.create(path, { config, facts }).isFinished()).toBe(true);
    expect(readFileSync(join(path, 'run.json'), 'utf8')).toBe(before);
  });

  it('refuses another config and names the keys that differ', () => {
    const path = fresh();
    RunDirectory.create(path, { config, facts });
    const before = readFileSync(join(path, 'config.json'), 'utf8');
    const other = { kind: 'stop-agent', ppo: { learningRate: 1e-3, clip: 0.1 }, hidden: [64, 32], extra: true };
    expect(() => RunDirectory.create(path, { config: other, facts })).toThrow(
      new InputError(
        `${path} already holds another run; it differs in ppo.learningRate (there 0.0003, now 0.001), hidden.1 (there 64, now 32), extra (there absent, now true). Restore those values to go on with it, give another --name to make a run beside it, or --restart to replace it`,
      ),
    );
    expect(readFileSync(join(path, 'config.json'), 'utf8')).toBe(before);
  });

  it('refuses other data or another seed', () => {
    const path = fresh();
    RunDirectory.create(path, { config, facts });
    const changed = { ...facts, seed: 8, hashes: { data: 'zz', annotations: 'bb' } };
    expect(() => RunDirectory.create(path, { config, facts: changed })).toThrow(
      'seed (there 7, now 8), hashes.data (there "aa", now "zz")',
    );
  });

  it('shows the first few of many differences', () => {
    const path = fresh();
    RunDirectory.create(path, { config: { list: Array(20).fill(0) }, facts });
    expect(() => RunDirectory.create(path, { config: { list: Array(20).fill(1) }, facts })).toThrow(
      /list\.7 \(there 0, now 1\), and 12 more\. Restore/,
    );
  });

  it('refuses a folder with other things in it, but not one left by a start that was cut off', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'checkpoints'));
    writeFileSync(join(folder, 'run.json'), '');
    RunDirectory.create(folder, { config, facts });
    const taken = temporaryFolder();
    writeFileSync(join(taken, 'thesis.tex'), '');
    expect(() => RunDirectory.create(taken, { config, facts })).toThrow(
      `${taken} is not empty (thesis.tex) and holds no run; choose a new directory`,
    );
  });

  it('says what is wrong with a path that cannot be a folder', () => {
    const path = join(temporaryFolder(), 'file');
    writeFileSync(path, '');
    expect(() => RunDirectory.create(path, { config, facts })).toThrow(/ENOTDIR.*part of its path is a file/);
    expect(() => RunDirectory.create(join(path, 'below'), { config, facts })).toThrow(/make the folder .*ENOTDIR/);
  });
});

describe('opening', () => {
  it('refuses a folder without a run and damaged files', () => {
    const path = temporaryFolder();
    expect(() => RunDirectory.open(path)).toThrow(
      `${path} is no run directory: it has no config.json; give the folder that a training made`,
    );
    const seed = join(path, 'agent', 'seed-1');
    RunDirectory.create(seed, { config, facts });
    for (const folder of [path, join(path, 'agent')])
      expect(() => RunDirectory.open(folder)).toThrow(`give a run that it holds, such as ${seed}`);
    writeFileSync(join(path, 'config.json'), '{"a": 1');
    expect(() => RunDirectory.open(path).readConfig(z.unknown())).toThrow(
      /config\.json was made by another version of Earshot, or is damaged \(it is not JSON.*restore the file/,
    );
    expect(() => RunDirectory.open(path).readRecord()).toThrow(
      /run\.json was made by another version .*\(it is missing\): run again/,
    );
  });
});
