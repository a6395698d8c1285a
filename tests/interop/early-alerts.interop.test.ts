import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  alertRates,
  alertSpeed,
  eRiskP,
  erde,
  latencyWeightedF1,
  medianAlertDelay,
  medianP,
} from '../../src/metrics/early-alerts.ts';
import { Random } from '../../src/tensor/random.ts';
import { runPython } from './python.ts';

it('alert metrics are those of an independent implementation in NumPy', async () => {
  const random = Random.seeded({ seed: 1, purpose: 'alerts' });
  const cases = Array.from({ length: 300 }, () => {
    const shares = [random.uniform(), random.uniform()];
    const rows = Array.from({ length: 1 + random.integer(60) }, () => {
      const posts = 1 + random.integer(200);
      const used = 1 + random.integer(posts);
      return { alerted: random.uniform() < shares[0], positive: random.uniform() < shares[1], posts, used };
    });
    return {
      alerted: rows.map(({ alerted }) => alerted),
      positive: rows.map(({ positive }) => positive),
      used: rows.map(({ used }) => used),
      posts: rows.map(({ posts }) => posts),
      hours: rows.map(({ used }) => used * random.uniform()),
    };
  });
  const { out, errors } = await runPython([join(import.meta.dirname, 'early-alerts.py')], {
    stdin: JSON.stringify({ cases }),
  });
  const theirs: unknown[] = JSON.parse(out || errors);
  expect(theirs).toHaveLength(cases.length);
  for (const [index, { used, posts, ...own }] of cases.entries()) {
    const decisions = { ...own, postsUsed: used, threadPosts: posts };
    const { precision, recall, f1, perThousandThreads } = alertRates(decisions);
    const delay = medianAlertDelay(decisions);
    const ps = [medianP(decisions), eRiskP];
    const near = (values: readonly (number | null)[]) =>
      values.map((value) => (value === null ? null : expect.closeTo(value, 10)));
    expect(theirs[index]).toEqual({
      erde: near(
        (['posts', 'hours'] as const).flatMap((unit) => [5, 50].map((deadline) => erde(decisions, { deadline, unit }))),
      ),
      rates: near([precision, recall, f1, perThousandThreads]),
      speeds: near(ps.map((p) => alertSpeed(decisions, p))),
      fLatency: near(ps.map((p) => latencyWeightedF1(decisions, p))),
      delays: near([delay.posts, delay.hours]),
    });
  }
});
