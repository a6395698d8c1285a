import { describe, expect, it } from 'vitest';
import { rewardsOf } from '../../trainers/gail.ts';

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
