import { describe, expect, it } from 'vitest';
import { Random } from '../../src/tensor/random.ts';
import { type ExpertStream, nextPair, rewardsOf } from '../../trainers/gail.ts';

const pairs = { rows: Int32Array.from({ length: 6 }, (_, row) => row), actions: new Uint8Array(6) };
const stream = (drawn: ExpertStream['drawn']): ExpertStream => ({
  pairs,
  drawn,
  order: new Int32Array(0),
  position: 0,
});
const draw = (drawn: ExpertStream['drawn'], count: number) => {
  const own = stream(drawn);
  const random = Random.seeded({ seed: 1, purpose: 'test draws' });
  return Array.from({ length: count }, () => nextPair(own, random));
};

describe('the reward of a step', () => {
  it('is the logit, or −log D with D the probability of the agent', () => {
    const logits = Float32Array.of(-2, 0, 3);
    expect(rewardsOf(logits, 'logit')).toBe(logits);
    const rewards = rewardsOf(logits, 'minus-log-d');
    for (const [step, logit] of logits.entries())
      expect(rewards[step]).toBeCloseTo(-Math.log(1 - 1 / (1 + Math.exp(-logit))), 6);
  });

  it('is finite for a discriminator that is sure', () => {
    expect([...rewardsOf(Float32Array.of(-500, 500), 'minus-log-d')]).toEqual([0, 500]);
  });
});

describe('the pairs of an expert', () => {
  it('come in passes, each once in a pass', () => {
    const drawn = draw('passes', 12);
    for (const pass of [drawn.slice(0, 6), drawn.slice(6)]) expect([...pass].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('come with replacement where that is asked for, all as often in the long run', () => {
    const drawn = draw('with-replacement', 6000);
    expect(new Set(drawn.slice(0, 6)).size).toBeLessThan(6);
    for (const pair of pairs.rows) {
      const count = drawn.filter((own) => own === pair).length;
      expect(count).toBeGreaterThan(850);
      expect(count).toBeLessThan(1150);
    }
  });
});
