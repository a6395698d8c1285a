import { expect, it } from 'vitest';
import { resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { streamOptimum } from '../../../experiments/stop-agent/stream-optimum.ts';
import { optimalStopping, synthesizeThreads } from '../../../src/data/synthetic/stream.ts';

const synthetic = { threads: 1500, seed: 8, slowShare: 0.3, slowPosts: 6 };
const agent = { algorithm: 'exact-policy-gradient', task: { delayCost: 0.3 } };

it('earns on drawn threads what the best rule of their stream earns, at the agent’s cost of delay', () => {
  const experiment = resolveExperiment({ name: 'x', data: { synthetic }, agent }, 'here');
  const decided = streamOptimum(experiment, synthesizeThreads(synthetic))?.decisions ?? [];
  const rewards = decided.map(
    ({ gold, predicted, postsUsed, posts }) => Number(gold === predicted) - (0.3 * postsUsed) / posts,
  );
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const { expectedReward } = optimalStopping({ ...synthetic, delayCostPerThread: 0.3 });
  expect(Math.abs(mean - expectedReward)).toBeLessThan(0.03);
});

it('is known of no other threads, and without a cost of delay of none', () => {
  const threads = synthesizeThreads({ threads: 5 });
  const of = (given: object) => streamOptimum(resolveExperiment({ name: 'x', ...given }, 'here'), threads);
  expect(of({ data: { threads: 'mine.jsonl' }, agent })).toBe(null);
  expect(of({})).toBe(null);
});
