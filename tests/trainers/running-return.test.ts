import { describe, expect, it } from 'vitest';
import { Random } from '../../src/tensor/random.ts';
import { initialRunningReturn, scaleRewards } from '../../trainers/gae.ts';

const steps = 40;
const discount = 0.9;
const random = Random.seeded({ seed: 1, purpose: 'running return' });
const rewards = Float32Array.from({ length: steps }, () => 3 * random.normal() + 1);
const ends = Uint8Array.from({ length: steps }, (_, step) => Number(step % 7 === 6));

/** Divides by the standard deviation of all discounted sums so far and one of weight 1e-4 with mean 0, variance 1. */
function byDefinition(): number[] {
  const sums: number[] = [];
  let sum = 0;
  return Array.from(rewards, (reward, step) => {
    sum = sum * discount + reward;
    sums.push(sum);
    if (ends[step] === 1) sum = 0;
    const count = sums.length + 1e-4;
    const mean = sums.reduce((total, value) => total + value, 0) / count;
    const squares = sums.reduce((total, value) => total + (value - mean) ** 2, 1e-4 * (1 + mean ** 2));
    return reward / Math.sqrt(squares / count + 1e-8);
  });
}

describe('scaleRewards', () => {
  it('divides each reward by the running standard deviation of the discounted sum', () => {
    const scaled = scaleRewards(initialRunningReturn(), { rewards, ends, discount });
    const expected = byDefinition();
    for (let step = 0; step < steps; step++) expect(scaled[step] / expected[step]).toBeCloseTo(1, 5);
  });

  it('goes on where the last call left off', () => {
    const whole = scaleRewards(initialRunningReturn(), { rewards, ends, discount });
    const state = initialRunningReturn();
    const parts = [
      [0, 9],
      [9, 10],
      [10, steps],
    ].map(([from, to]) =>
      scaleRewards(state, { rewards: rewards.subarray(from, to), ends: ends.subarray(from, to), discount }),
    );
    expect(parts.flatMap((part) => [...part])).toEqual([...whole]);
  });

  it('keeps the sign and survives rewards that are all 0', () => {
    const scaled = scaleRewards(initialRunningReturn(), { rewards, ends, discount });
    for (const [step, value] of scaled.entries()) expect(Math.sign(value)).toBe(Math.sign(rewards[step]));
    const nothing = scaleRewards(initialRunningReturn(), { rewards: new Float32Array(steps), ends, discount });
    expect([...nothing]).toEqual(Array(steps).fill(0));
  });

  it('leaves the rewards themselves alone', () => {
    const before = rewards.slice();
    scaleRewards(initialRunningReturn(), { rewards, ends, discount });
    expect(rewards).toEqual(before);
  });
});
