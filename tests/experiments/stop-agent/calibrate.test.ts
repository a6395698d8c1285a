import { describe, expect, it } from 'vitest';
import { type Limits, stopIn } from '../../../checkpoints/policy/stops.ts';
import {
  calibrationThresholds,
  curveOf,
  GuaranteeNotShown,
  keptBy,
} from '../../../experiments/stop-agent/calibrate.ts';
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

describe('a guarantee that threads cannot show', () => {
  const limits: Limits = { maxPosts: 1000, deadline: deadlines[0] };
  /** Each raises an alert at its first post; one in so many withdraws it. */
  const alerting = (count: number, withdrawnEach: number) =>
    Array.from({ length: count }, (_, index) => ({
      posts: [0.99, 0.99, 0.99].map((score) => ({ hours: null, score })),
      labelAt: (posts: number) => (posts === 3 && index % withdrawnEach === 0 ? 'calm' : 'angry'),
      gold: null,
    }));
  const risk = { level: 0.05, confidence: 0.9, limits, alerts: ['angry'] };
  const refusalOf = (run: () => unknown): GuaranteeNotShown => {
    try {
      run();
    } catch (error) {
      if (error instanceof GuaranteeNotShown) return error;
      throw error;
    }
    throw new Error('it was shown');
  };

  it.each([
    ['withdrawn', 90, 40],
    ['withdrawn', 200, 25],
    ['false-alert', 60, 50],
  ] as const)('says how many threads it takes and which level can be shown (%s, %d threads)', (loss, count, each) => {
    const own = alerting(count, each).map((thread) => ({ ...thread, gold: thread.labelAt(3) }));
    const { message, remedy } = refusalOf(() => keptBy(own, { ...risk, loss }));
    expect(message).toContain(`${count} threads cannot show that at most 5% of early alerts `);
    expect(message).toContain(
      `${count} of them raise an alert before their end, and ${Math.ceil(count / each)} of these`,
    );
    const [, threads, level] =
      /about (\d+) such threads would show it\. Or allow more: --risk-level ([\d.]+) can be shown/.exec(remedy) ?? [];
    expect(keptBy(own, { ...risk, loss, level: Number(level) }).threshold).toBeLessThan(1);
    refusalOf(() => keptBy(own, { ...risk, loss, level: Number(level) - 0.002 }));
    const more = Array.from({ length: Math.ceil(Number(threads) / count) }, () => own).flat();
    expect(keptBy(more, { ...risk, loss }).threshold).toBeLessThan(1);
  });

  it('refuses a curve about alerts where no label raises one', () => {
    const target = { confidence: 0.9, limits, loss: 'withdrawn' } as const;
    expect(() => curveOf([], target)).toThrow('no label raises an alert, and --loss withdrawn is about alerts');
  });

  it('names what to do in the words of who asks, and nothing that would not help', () => {
    const remedies = { threads: 'Raise split.calibration', level: 'guarantee.level:' };
    const half = refusalOf(() => keptBy(alerting(300, 2), { ...risk, loss: 'withdrawn', remedies }));
    expect(half.remedy).toMatch(
      /^So many lose that no number of such threads would show it\. Or allow more: guarantee\.level: 0\.\d+ can/,
    );
    const calm = alerting(300, 1).map((thread) => ({ ...thread, labelAt: () => 'calm' }));
    expect(refusalOf(() => keptBy(calm, { ...risk, loss: 'withdrawn', remedies })).remedy).toBe(
      'Raise split.calibration',
    );
    const few = refusalOf(() => keptBy(calm.slice(0, 40), { ...risk, loss: 'disagreement', remedies }));
    expect(few.message).toContain('that takes 45, even where none changes. Raise split.calibration');
    expect(few.remedy).toContain('guarantee.level: 0.056 or above');
    const none = refusalOf(() => keptBy([], { ...risk, loss: 'disagreement', remedies }));
    expect(none.message).toMatch(/^0 threads cannot show .*Raise split\.calibration, which need no labels$/);
    const late = { ...limits, deadline: { posts: 1, hours: null } };
    const hurried = refusalOf(() =>
      keptBy(alerting(300, 3), { ...risk, limits: late, loss: 'disagreement', remedies }),
    );
    const [, level] = /guarantee\.level: ([\d.]+) can be shown$/.exec(hurried.remedy) ?? [];
    expect(keptBy(alerting(300, 3), { ...risk, limits: late, loss: 'disagreement', level: Number(level) }).losses).toBe(
      100,
    );
  });
});
