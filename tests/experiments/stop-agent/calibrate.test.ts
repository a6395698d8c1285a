import { expect, it } from 'vitest';
import { type Limits, stopIn } from '../../../checkpoints/policy/stops.ts';
import { calibrationThresholds, keptBy } from '../../../experiments/stop-agent/calibrate.ts';
import { learnThenTest } from '../../../src/metrics/learn-then-test.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { Random } from '../../../src/tensor/random.ts';

const random = Random.seeded({ seed: 1, purpose: 'calibration' });
const threads = Array.from({ length: 150 }, () => {
  const labels = Array.from({ length: 1 + random.integer(12) }, (_, post) => String(random.uniform() < 1 / (post + 2)));
  const posts = labels.map((_, hours) => ({ hours, score: random.uniform() }));
  return { posts, labelAt: (count: number) => labels[count - 1], gold: null };
});
const deadlines: Limits['deadline'][] = [
  { posts: null, hours: null },
  { posts: 6, hours: null },
  { posts: null, hours: 8 },
];

it.each(deadlines)(
  'finds what Learn then Test finds where every thread is replayed at every threshold (%j)',
  (deadline) => {
    const limits: Limits = { maxPosts: 1000, deadline };
    const wanted = { level: 0.3, confidence: 0.9, loss: 'disagreement', limits } as const;
    const stopsAt = (threshold: number) =>
      threads.map(({ posts, labelAt }) => {
        const { postsUsed } = stopIn({ threshold, limits }, posts);
        return { read: postsUsed / posts.length, changes: labelAt(postsUsed) !== labelAt(posts.length) };
      });
    const expected = learnThenTest({
      ...{ ...wanted, thresholds: calibrationThresholds, items: threads.length },
      lossesAt: (threshold) => stopsAt(threshold).filter(({ changes }) => changes).length,
    });
    const found = keptBy(threads, wanted);
    expect(found).toMatchObject({ ...expected });
    expect(found.losses).toBeGreaterThan(0);
    expect(found.er).toBeCloseTo(mean(stopsAt(found.threshold).map(({ read }) => read)), 12);
  },
);
