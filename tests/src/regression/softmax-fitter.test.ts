import { expect, it } from 'vitest';
import { trainingRows } from '../../../experts/detectors/local/training-rows.ts';
import { rumorTask } from '../../../src/data/task.ts';
import { softmaxFitter } from '../../../src/regression/softmax-fitter.ts';
import { certainTargets } from '../../../src/regression/softmax-regression.ts';
import { toyThreads } from '../../experts/threads.ts';

it('fits what would be fitted with all columns, step for step', async () => {
  const threads = toyThreads({ count: 20, seed: 3 });
  const { features, threadOfRow } = await trainingRows({ threads, encoder: null, maxPosts: 500 });
  const labels = Array.from(threadOfRow, (thread) => rumorTask.goldLabel(threads[thread]) ?? 0);
  const rows = { features, targets: certainTargets({ labels, classCount: 2 }), classCount: 2 };
  const of = { rowWeights: Float64Array.from(threadOfRow, (thread) => Number(thread >= 4)), l2: 1e-3 };
  const few = await (await softmaxFitter(rows))(of);
  const all = await (await softmaxFitter({ ...rows, mostInnerProducts: 0 }))(of);
  const largest = (left: Float64Array, right: Float64Array) =>
    left.reduce((most, value, index) => Math.max(most, Math.abs(value - right[index])), 0);
  expect(largest(few.logits, all.logits)).toBeLessThan(1e-9);
  expect(largest(few.weights(), all.weights())).toBeLessThan(1e-9);
});
