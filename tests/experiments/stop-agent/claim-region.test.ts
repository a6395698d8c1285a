import { expect, it } from 'vitest';
import { claimShift } from '../../../checkpoints/policy/claim-shift.ts';
import { claimRegion } from '../../../experiments/stop-agent/claim-region.ts';

const words = ['storm', 'river', 'bridge', 'harbour', 'flood', 'rescue', 'police', 'station'];
const claims = Array.from({ length: 60 }, (_, index) =>
  [0, 3, 5].map((step) => words[(index * (step + 1) + step) % words.length]).join(' '),
);

it('marks few of the claims that it is of, and those of another world', async () => {
  const shiftOf = claimShift(await claimRegion(claims));
  expect(claims.filter((claim) => shiftOf(claim).isUnlike).length).toBeLessThanOrEqual(3);
  const other = shiftOf('vaccine zebra quark');
  expect(other.isUnlike).toBe(true);
  expect(other.score).toBeGreaterThan(0.9);
  // Nothing is known of a claim without words.
  expect(shiftOf('')).toEqual({ score: 1, isUnlike: true });
});
