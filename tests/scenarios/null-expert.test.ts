import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { openCache } from '../../experiments/stop-agent/cache.ts';
import { resolveExperiment } from '../../experiments/stop-agent/experiment.ts';
import { openData } from '../../experiments/stop-agent/parts.ts';
import { compareToRules } from '../../experiments/stop-agent/report/rule-margins.ts';
import { readTrialResult } from '../../experiments/stop-agent/result.ts';
import { runTrial } from '../../experiments/stop-agent/trial.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { workContext } from '../../src/work-context.ts';

const folder = mkdtempSync(join(tmpdir(), 'earshot-null-expert-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let backend: Awaited<ReturnType<typeof selectBackend>>;
beforeAll(async () => {
  backend = await selectBackend('onnx');
});

describe('the null-expert control', () => {
  it.each([
    // It ends at the first post or at the last, so what it shows is little.
    ['imitation', { least: 0, most: 1 }],
    ['behavior-cloning', { least: 0.5, most: 0.95 }],
  ] as const)(
    'taught by demonstrations that stop at random, the agent is no better than the rules (%s)',
    async (algorithm, er) => {
      const experiment = resolveExperiment(
        {
          name: `null-expert-${algorithm}`,
          data: { synthetic: { threads: 420, seed: 2 } },
          split: { detector: 60, demonstrations: 50, environment: 60, test: 250 },
          encoder: { name: 'hashing', dimensions: 32 },
          detector: { characterWeights: [1], folds: 2, l2: [1e-3] },
          agent: {
            algorithm,
            iterations: 25,
            behaviorCloning: { epochs: 10 },
            trajectories: { control: 'random-stops' },
            hidden: 32,
            imitation: {
              ppo: { learningRate: 1e-3, epochs: 2 },
              discriminator: { hidden: 32, epochs: 3, warmupIterations: 0 },
            },
          },
          evaluation: { resamples: 10 },
        },
        'null-expert',
      );
      const data = await openData(experiment, () => {});
      const cache = await openCache(join(folder, 'cache'), experiment);
      const settings = [1, 2].map((seed) => {
        const directory = join(folder, `${algorithm}-${seed}`);
        return { experiment, seed, directory, data, cache };
      });
      for (const own of settings) expect(await runTrial({ ...own, backend, context: workContext() })).toBe(true);
      const trials = settings.map(({ directory }) =>
        readTrialResult(RunDirectory.open(directory), { withIntervals: false }),
      );
      // An agent that stops at the first post, or the last, is one of the rules.
      for (const { systems } of trials) {
        expect(systems[0].values.er).toBeGreaterThan(er.least);
        expect(systems[0].values.er).toBeLessThanOrEqual(er.most);
      }
      // Above the best mixture of two fixed rules by no more than the scatter of 250 threads.
      expect(compareToRules(trials).overOneQuery?.mean).toBeLessThan(0.03);
    },
  );
});
