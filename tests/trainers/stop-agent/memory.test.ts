import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { workContext } from '../../../src/work-context.ts';
import { createStopAgent } from '../../../trainers/stop-agent/create.ts';
import { estimatedBytes, groupsThatFit } from '../../../trainers/stop-agent/memory.ts';
import { testBackend } from '../../src/tensor/test-backend.ts';
import { type AgentInput, smallMember, smallProblem } from './small-problem.ts';

const realistic: AgentInput = {
  hidden: 64,
  imitation: { discriminator: { hidden: 100, batchSize: 64 }, ppo: { stepsPerIteration: 200, epochs: 1 } },
};

// On onnx kernels compute nothing that a profile could see: their graphs do, later.
it.skipIf(testBackend() === 'onnx').each<[string, AgentInput]>([
  ['imitation', realistic],
  ['exact policy gradient', { ...realistic, algorithm: 'exact-policy-gradient' }],
])('is estimated above the peak of an iteration, and not far: %s', async (_, more) => {
  await selectBackend(testBackend());
  const problem = smallProblem();
  const members = [1, 2].map((seed) => smallMember({ seed, more, problem }));
  const before = tf.memory().numBytes;
  const trainer = await createStopAgent(members);
  const { peakBytes } = await tf.profile(async () => {
    await trainer.iterate(workContext());
    return tf.scalar(0);
  });
  trainer.dispose();
  const estimate = estimatedBytes(members, { tablesOnDevice: true });
  expect(peakBytes - before).toBeLessThan(estimate);
  expect(peakBytes - before).toBeGreaterThan(estimate / 12);
});

it('splits members where they do not fit together, in their order, none left out', () => {
  const members = [1, 2, 3, 4, 5].map((seed) => smallMember({ seed }));
  const options = { tablesOnDevice: true };
  const grouped = (bytes: number) =>
    groupsThatFit(members, { ...options, bytes }).map((group) => group.map(({ seed }) => seed));
  expect(grouped(estimatedBytes(members, options))).toEqual([[1, 2, 3, 4, 5]]);
  expect(grouped(estimatedBytes(members.slice(0, 2), options))).toEqual([[1, 2], [3, 4], [5]]);
  expect(grouped(1)).toEqual([[1], [2], [3], [4], [5]]);
});

it('counts a table that members share once, and only where the backend keeps it', () => {
  const shared = smallProblem();
  const bytes = (problems: readonly ReturnType<typeof smallProblem>[], tablesOnDevice: boolean) =>
    estimatedBytes(
      problems.map((problem) => smallMember({ problem })),
      { tablesOnDevice },
    );
  const table = 4 * shared.table.data.length;
  expect(bytes([shared, shared], true) - bytes([shared, shared], false)).toBe(table);
  expect(bytes([shared, smallProblem()], true) - bytes([shared, shared], false)).toBe(2 * table);
});
