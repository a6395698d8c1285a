import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { compareToFront } from '../../experiments/report/aggregate.ts';
import { openCache } from '../../experiments/stop-agent/cache.ts';
import { resolveExperiment } from '../../experiments/stop-agent/experiment.ts';
import { loadData } from '../../experiments/stop-agent/parts.ts';
import { readTrialResult } from '../../experiments/stop-agent/result.ts';
import { runTrial } from '../../experiments/stop-agent/trial.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { workContext } from '../../src/work-context.ts';

const folder = mkdtempSync(join(tmpdir(), 'earshot-null-expert-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let backend: Awaited<ReturnType<typeof selectBackend>>;
beforeAll(async () => {
  backend = await selectBackend('wasm');
});

describe('the null-expert control', () => {
  it('taught by demonstrations that stop at random, the agent is no better than the rules', async () => {
    const experiment = resolveExperiment(
      {
        name: 'null-expert',
        data: { synthetic: { threads: 420, seed: 2 } },
        split: { detector: 60, demonstrations: 50, environment: 60, test: 250 },
        encoder: { name: 'hashing', dimensions: 32 },
        detector: {
          encoder: { name: 'hashing', dimensions: 256, characterNgrams: { weight: 0 } },
          steps: 60,
          folds: 2,
          l2: [1e-4],
        },
        agent: { iterations: 60, trajectories: { control: 'random-stops' } },
        evaluation: { resamples: 10 },
      },
      'null-expert',
    );
    const threads = await loadData(experiment, () => {});
    const cache = await openCache(join(folder, 'cache'), experiment);
    const trials = [];
    for (const seed of [1, 2]) {
      const directory = join(folder, `seed-${seed}`);
      expect(await runTrial({ experiment, seed, directory, threads, cache, backend, context: workContext() })).toBe(
        true,
      );
      trials.push(readTrialResult(RunDirectory.open(directory), { withIntervals: false }));
    }
    // Above the best mixture of two fixed rules by no more than the scatter of 250 threads.
    expect(compareToFront(trials).overHull.mean).toBeLessThan(0.03);
  });
});
