import { afterEach, beforeAll, expect, it } from 'vitest';
import { followOptimum, planted, plantedOptimum, plantedThreads } from '../../../benchmarks/planted-detectors.ts';
import { allCascades, followCascade } from '../../../experiments/query-agent/cascades.ts';
import { outcomeOf, returnsOf } from '../../../experiments/query-agent/outcomes.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { Random } from '../../../src/tensor/random.ts';
import { workContext } from '../../../src/work-context.ts';
import { type QueryAgentConfig, queryAgentSchema } from '../../../trainers/query-agent/config.ts';
import { decideQueries } from '../../../trainers/query-agent/policy.ts';
import type { QueryThread } from '../../../trainers/query-agent/states.ts';
import { createQueryTrainer } from '../../../trainers/query-agent/trainer.ts';
import { type Trainer, trainToEnd } from '../../../trainers/trainer.ts';
import { testBackend } from '../../src/tensor/test-backend.ts';

beforeAll(async () => {
  await selectBackend(testBackend('onnx'));
});

const trainers: Trainer<unknown>[] = [];
afterEach(() => {
  for (const trainer of trainers.splice(0)) trainer.dispose();
});

function trainerOf(threads: readonly QueryThread[], config: Partial<QueryAgentConfig> = {}) {
  const { delayCost } = planted;
  const trainer = createQueryTrainer({
    threads,
    labels: 2,
    config: queryAgentSchema.parse({ delayCost, ...config }),
    seed: 1,
  });
  trainers.push(trainer);
  return trainer;
}

const someThreads = (count: number, seed: number) =>
  plantedThreads({ count, random: Random.seeded({ seed, purpose: 'planted detectors' }) });

it('closes half of the gap between the best cascade and the best policy, with a hundred threads', async () => {
  const trainer = trainerOf(someThreads(100, 1), { iterations: 150 });
  await trainToEnd(trainer, workContext());
  const [policy] = await trainer.policies();
  const test = someThreads(500, 2);
  const worth = (episodes: readonly Parameters<typeof outcomeOf>[1][]) =>
    mean(
      returnsOf(
        episodes.map((episode, index) => outcomeOf(test[index], episode)),
        planted.delayCost,
      ),
    );
  const agent = worth(await decideQueries(policy, { threads: test, labels: 2 }));
  const optimum = worth(test.map(followOptimum));
  const rules = allCascades({ names: planted.detectors, lengths: planted.lengths });
  const best = Math.max(...rules.map((rule) => worth(test.map((thread) => followCascade(thread, rule)))));
  expect(Math.abs(optimum - plantedOptimum())).toBeLessThan(0.04);
  expect(agent).toBeGreaterThan((best + optimum) / 2);
});

it('goes on bit for bit from a state', async () => {
  const threads = someThreads(10, 3);
  const whole = trainerOf(threads, { iterations: 6 });
  const cut = trainerOf(threads, { iterations: 6 });
  for (let iteration = 0; iteration < 3; iteration++) await cut.iterate(workContext());
  const resumed = trainerOf(threads, { iterations: 6 });
  resumed.restore(await cut.state());
  await trainToEnd(whole, workContext());
  await trainToEnd(resumed, workContext());
  expect(await resumed.policies()).toEqual(await whole.policies());
});

it('needs labelled threads', () => {
  const [thread] = someThreads(1, 4);
  expect(() => trainerOf([])).toThrow('learns from labelled threads');
  expect(() => trainerOf([{ ...thread, gold: null }])).toThrow('has no label');
});
