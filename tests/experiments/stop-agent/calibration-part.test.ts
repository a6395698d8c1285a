import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { splitParts } from '../../../experiments/stop-agent/parts.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, tiny, writeExperiment } from '../cli/command-line.ts';

const threads = synthesizeThreads({ threads: 100, seed: 3 });
const unlabelled = synthesizeThreads({ threads: 60, seed: 4 }).map((thread) => ({
  ...thread,
  id: `new-${thread.id}`,
  rumor: null,
}));

function partsOf(own: readonly (typeof threads)[number][], split: Record<string, unknown>) {
  return splitParts(own, resolveExperiment({ ...tiny, split: { ...tiny.split, ...split } }, 'tiny'), 1);
}

it('takes threads without a label first, after the environment, and leaves the other parts as they were', () => {
  const without = partsOf([...threads, ...unlabelled], {});
  const { calibration, ...others } = partsOf([...threads, ...unlabelled], { calibration: 50 });
  expect({ ...others, calibration: [] }).toEqual(without);
  const left = unlabelled.length - others.environment.length;
  expect(calibration.filter(({ rumor }) => rumor === null)).toHaveLength(Math.min(50, left));
  expect(calibration).toHaveLength(50);
  const used = new Set(Object.values(others).flatMap((part) => part.map(({ id }) => id)));
  expect(calibration.filter(({ id }) => used.has(id))).toEqual([]);
});

it('lets a training find its guarantee there, by which it is tested and decides', async () => {
  const cwd = temporaryFolder();
  writeExperiment(join(cwd, 'tiny.yaml'), {
    data: { synthetic: { threads: 160, seed: 1 } },
    split: { detector: 20, demonstrations: 12, environment: 12, calibration: 80, test: 20 },
    guarantee: { level: 0.1 },
    agent: { ...tiny.agent, algorithm: 'settled', iterations: 40 },
    state: { posts: 'none', observesDetector: true },
  });
  const trained = await earshot(['train', 'tiny.yaml', '--seeds', '1,2'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  const run = join(cwd, 'runs/tiny/agent/seed-1');
  const read = (name: string) => JSON.parse(readFileSync(join(run, name), 'utf8'));
  const guarantee = read('guarantee.json');
  expect(guarantee).toMatchObject({ level: 0.1, confidence: 0.9, threads: 80 });
  expect(read('threshold.json').threshold).toBe(guarantee.threshold);
  const other = JSON.parse(readFileSync(join(cwd, 'runs/tiny/agent/seed-2/guarantee.json'), 'utf8'));
  const percent = (share: number) => `${Math.round(100 * share)}%`;
  expect(trained.out.replace(/\s+/g, ' ')).toContain(
    `tiny: Reads ${percent((guarantee.er + other.er) / 2)} of the posts; with 90% confidence at most 10% of predictions would change (mean of 2 seeds, which read ${percent(Math.min(guarantee.er, other.er))} to ${percent(Math.max(guarantee.er, other.er))}).`,
  );
  expect(trained.out).not.toContain('agent without it');

  // Its threads are known to the run, and used up for another calibration.
  const path = join(cwd, 'same.jsonl');
  const { writeThreads } = await import('../../../src/data/thread-file.ts');
  await writeThreads(path, synthesizeThreads({ threads: 160, seed: 1 }));
  const again = await earshot(['calibrate', run, '--threads', path, '--risk-level', '0.3'], { cwd });
  expect(again.errors).toContain('left out: 144 threads that');
});

it('refuses fewer threads than can show the guarantee', () => {
  expect(() => partsOf(threads, { calibration: 30 })).toThrow('the guarantee takes at least 45 threads');
});
