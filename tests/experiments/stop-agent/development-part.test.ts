import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { splitParts } from '../../../experiments/stop-agent/parts.ts';
import { readTrialResult } from '../../../experiments/stop-agent/result.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, tiny, writeExperiment } from '../cli/command-line.ts';

const threads = synthesizeThreads({ threads: 100, seed: 3 });
const ids = (part: readonly { id: string }[]) => part.map(({ id }) => id);

function partsOf(split: Record<string, unknown>) {
  return splitParts(threads, resolveExperiment({ ...tiny, split: { ...tiny.split, ...split } }, 'tiny'), 1);
}

it('takes the development part from threads that no other part has, and leaves the others as they were', () => {
  const without = partsOf({});
  const { development, ...others } = partsOf({ development: 20 });
  expect(without.development).toEqual([]);
  expect({ ...others, development: [] }).toEqual(without);
  expect(development).toHaveLength(20);
  const used = new Set(Object.values(others).flatMap(ids));
  expect(ids(development).filter((id) => used.has(id))).toEqual([]);
  const rest = partsOf({ development: 20, test: 'rest' });
  expect(ids(rest.test).filter((id) => ids(rest.development).includes(id))).toEqual([]);
  expect(rest.test).toHaveLength(36);
});

it('gives each part the shares of the labels, or leaves them to chance', () => {
  const rumors = (stratify: boolean) =>
    Array.from({ length: 20 }, (_, seed) => {
      const experiment = resolveExperiment({ ...tiny, split: { ...tiny.split, stratify } }, 'tiny');
      return splitParts(threads, experiment, seed + 1).test.filter(({ rumor }) => rumor).length;
    });
  const spread = (counts: readonly number[]) => Math.max(...counts) - Math.min(...counts);
  expect(spread(rumors(true))).toBeLessThanOrEqual(1);
  expect(spread(rumors(false))).toBeGreaterThan(3);
});

it('keeps decisions on the development part apart from those on the test', async () => {
  const cwd = temporaryFolder();
  writeExperiment(join(cwd, 'tiny.yaml'), { split: { ...tiny.split, test: 8, development: 8 } });
  const trained = await earshot(['train', 'tiny.yaml', '--jobs', '1'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  expect(readFileSync(join(cwd, 'runs/tiny/report.md'), 'utf8')).toContain('test 8, development 8 ');
  const run = RunDirectory.open(join(cwd, 'runs/tiny/agent/seed-1'));
  const idsIn = (name: string) =>
    new Set(
      readFileSync(join(run.path, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).item),
    );
  const development = idsIn('development-decisions.jsonl');
  const test = idsIn('decisions.jsonl');
  expect([development.size, test.size]).toEqual([8, 8]);
  expect([...development].filter((id) => test.has(id))).toEqual([]);
  const scored = readTrialResult(run, { withIntervals: false, part: 'development' });
  expect(scored.systems.map(({ name }) => name)).toEqual(
    readTrialResult(run, { withIntervals: false }).systems.map(({ name }) => name),
  );
  expect(existsSync(join(run.path, 'parts.json'))).toBe(true);
  expect(Object.keys(JSON.parse(readFileSync(join(run.path, 'parts.json'), 'utf8')).parts)).toContain('development');

  const asked = await earshot(['train', 'tiny.yaml', '--jobs', '1'], { cwd });
  expect(asked.errors).not.toMatch(/training/);

  // The split has a development part already, so that is no advice.
  rmSync(join(run.path, 'development-decisions.jsonl'));
  const { code, errors } = await earshot(['report', 'runs/tiny'], { cwd });
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/development-decisions\.jsonl was made .* \(it is missing\): run again \(.*--restart\)/),
  ]);
});
