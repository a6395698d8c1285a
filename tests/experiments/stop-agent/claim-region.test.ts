import { expect, it } from 'vitest';
import { outOfDistributionFrom } from '../../../checkpoints/policy/out-of-distribution.ts';
import { claimRegion } from '../../../experiments/stop-agent/claim-region.ts';

const words = ['storm', 'river', 'bridge', 'harbour', 'flood', 'rescue', 'police', 'station'];
const claims = Array.from({ length: 60 }, (_, index) =>
  [0, 3, 5].map((step) => words[(index * (step + 1) + step) % words.length]).join(' '),
);

it('marks few of the claims that it is of, and those of another world', async () => {
  const outOfDistributionOf = outOfDistributionFrom(await claimRegion(claims));
  expect(claims.filter((claim) => outOfDistributionOf(claim).isFlagged).length).toBeLessThanOrEqual(3);
  const other = outOfDistributionOf('vaccine zebra quark');
  expect(other.isFlagged).toBe(true);
  expect(other.score).toBeGreaterThan(0.9);
  // Nothing is known of a claim without words.
  expect(outOfDistributionOf('')).toEqual({ score: 1, isFlagged: true });
});
